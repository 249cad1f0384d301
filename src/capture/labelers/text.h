// SPDX-License-Identifier: Apache-2.0
// Text out of str objects, and names of types, without the interpreter's help: PyUnicode_AsUTF8
// caches what it encodes in the object, and anything that formats creates objects.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. Touches no Python memory.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace cyclewatch::capture {

// The UTF-8 of a str; lone surrogates become U+FFFD. The view lives as long as this object and
// the str do. Anything but an exact str is empty. Of one longer than 4,096 characters the
// beginning.
class Utf8Text {
  public:
    // May throw std::bad_alloc (not for ASCII, which is not copied).
    explicit Utf8Text(PyObject* text);
    Utf8Text(const Utf8Text&) = delete;
    Utf8Text& operator=(const Utf8Text&) = delete;
    [[nodiscard]] std::string_view view() const noexcept { return view_; }

  private:
    std::string encoded_;
    std::string_view view_;
};

// Names longer than this do not leave the program: they are data, not names.
inline constexpr Py_ssize_t kLongestName = 120;

// True for an exact str that is an identifier of at most kLongestName characters.
[[nodiscard]] bool is_identifier(PyObject* text) noexcept;

// True for an exact str of letters, digits and "_" of that length: what nn.Sequential calls its
// children ("0", "1") and nn.ModuleDict may.
[[nodiscard]] bool is_child_name(PyObject* text) noexcept;

// True for an exact str that equals `ascii`.
[[nodiscard]] bool equals_ascii(PyObject* text, std::string_view ascii) noexcept;

// The value under the exact str key `ascii`, borrowed, or null. Compares text only, so that no
// key's __eq__ runs.
[[nodiscard]] PyObject* find_in_dict(PyObject* dict, std::string_view ascii) noexcept;

// False for code without a file that a reader could open: generated methods (dataclasses), exec.
[[nodiscard]] bool has_file(PyCodeObject* code) noexcept;

// A type's module and qualified name. `module` is empty for builtins and where not known.
struct TypeName {
    std::string module;
    std::string qualname;

    // "module.qualname", or "qualname" alone.
    [[nodiscard]] std::string full() const;
};

[[nodiscard]] TypeName name_of_type(PyTypeObject* type);

// The same as comparing `tp_name`, whose length, which may be any, is not counted.
[[nodiscard]] bool goes_by(const PyTypeObject* type, const char* name) noexcept;

}  // namespace cyclewatch::capture
