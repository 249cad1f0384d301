// SPDX-License-Identifier: Apache-2.0
// Reads the text of str objects and the names of types without creating Python objects. Does not
// use PyUnicode_AsUTF8(), which would cache its result in the str.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. Does not allocate Python memory. May
// throw std::bad_alloc unless noexcept.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace cyclewatch::capture {

// The first 4,096 characters of an exact str as UTF-8, with U+FFFD for lone surrogates; empty for
// anything else. The view is valid as long as both this object and the str exist.
class Utf8Text {
  public:
    // If the text is ASCII, it is not copied, and the constructor cannot throw.
    explicit Utf8Text(PyObject* text);
    Utf8Text(const Utf8Text&) = delete;
    Utf8Text& operator=(const Utf8Text&) = delete;
    [[nodiscard]] std::string_view view() const noexcept { return view_; }

  private:
    std::string encoded_;
    std::string_view view_;
};

// Maximum length of a reported name. Longer names are considered user data.
inline constexpr Py_ssize_t kLongestName = 120;

// True for an exact str that is an identifier of at most kLongestName characters.
[[nodiscard]] bool is_identifier(PyObject* text) noexcept;

// True for an identifier, or for an exact ASCII str of at most kLongestName letters, digits and
// "_". nn.Sequential ("0", "1") and nn.ModuleDict use such names for their children.
[[nodiscard]] bool is_child_name(PyObject* text) noexcept;

// True for an exact str that equals `ascii`; false for null.
[[nodiscard]] bool equals_ascii(PyObject* text, std::string_view ascii) noexcept;

// Returns a borrowed reference to the value that `dict` stores under the exact str key `ascii`;
// null if there is none. Never calls __eq__().
[[nodiscard]] PyObject* find_in_dict(PyObject* dict, std::string_view ascii) noexcept;

// False for code without a source file, such as generated methods (dataclasses) and code run by
// exec().
[[nodiscard]] bool has_file(PyCodeObject* code) noexcept;

// The source file, without ".." if that names the same file.
[[nodiscard]] std::string path_of(PyCodeObject* code);

// A type's module and qualified name. `module` is empty for builtin types and for types whose
// module is unknown.
struct TypeName {
    std::string module;
    std::string qualname;

    // "module.qualname", or "qualname" if there is no module.
    [[nodiscard]] std::string full() const;
};

[[nodiscard]] TypeName name_of_type(PyTypeObject* type);

// Returns the first of `type` and its bases whose `tp_name` is `name`; null if there is none.
[[nodiscard]] PyTypeObject* base_named(PyTypeObject* type, const char* name) noexcept;

// True if the type or one of its bases is the class `qualname` of the module, or any class of the
// module if `qualname` is empty.
[[nodiscard]] bool has_base(PyTypeObject* type, std::string_view module, std::string_view qualname);

// True if `tp_name` is `name`. Stops reading `tp_name` at the first difference.
[[nodiscard]] bool has_tp_name(const PyTypeObject* type, const char* name) noexcept;

}  // namespace cyclewatch::capture
