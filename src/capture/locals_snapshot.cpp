// SPDX-License-Identifier: Apache-2.0
#include "capture/locals_snapshot.h"

#include <algorithm>
#include <vector>

#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"
#include "compat/operand_stack.h"

namespace cyclewatch::capture {
namespace {

constexpr Py_ssize_t kFewestKeys = 3;    // fewer say nothing
constexpr Py_ssize_t kMostKeys = 200;    // of a function that somebody wrote
constexpr std::size_t kUnexplained = 8;  // one key in so many may be none of the class's variables

// Keys of the dict and how many of them the methods seen so far explain.
class Snapshot {
  public:
    // Empty if a key is not the name of a variable.
    explicit Snapshot(PyObject* dict) {
        Py_ssize_t position = 0;
        PyObject* key = nullptr;
        PyObject* value = nullptr;
        while (PyDict_Next(dict, &position, &key, &value) != 0) {
            if (!is_identifier(key)) {
                keys_.clear();
                return;
            }
            keys_.push_back(key);
        }
        explained_.assign(keys_.size(), false);
    }

    [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }

    void look_at(PyCodeObject* code, PyTypeObject* type) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (is_variable(code, keys_[i])) {
                explained_[i] = true;
                ++count;
            }
        }
        if (count > most_ && begins_with_parameters(code)) {
            most_ = count;
            code_ = code;
            type_ = type;
        }
    }

    [[nodiscard]] std::optional<ObjectSummary> result() const {
        const auto unexplained =
            static_cast<std::size_t>(std::count(explained_.begin(), explained_.end(), false));
        if (code_ == nullptr || unexplained * kUnexplained > keys_.size()) {
            return std::nullopt;
        }
        ObjectSummary summary = summarize_code_of(code_, name_of_type(type_).module);
        OnlyLine call{code_};
        cyclewatch_visit_calls(code_, note_locals, &call);
        summary.line =
            call.line != 0 && !call.several ? static_cast<std::uint32_t>(call.line) : summary.line;
        return summary;
    }

  private:
    static int note_locals(const cyclewatch_operand* called, int offset, void* arg) noexcept {
        auto& call = *static_cast<OnlyLine*>(arg);
        if (called->name != nullptr && equals_ascii(called->name, "locals")) {
            const int line = cyclewatch_line_at(call.code, offset);
            call.several = call.several || (call.line != 0 && call.line != line);
            call.line = line;
        }
        return 0;
    }

    // The compiler and setattr() intern names, but not every key is one of theirs.
    static bool is_same(PyObject* name, PyObject* key) {
        return name == key ||
               (name != nullptr && PyUnicode_GET_LENGTH(name) == PyUnicode_GET_LENGTH(key) &&
                Utf8Text(name).view() == Utf8Text(key).view());
    }

    static bool is_variable(PyCodeObject* code, PyObject* key) {
        for (Py_ssize_t i = 0; i < cyclewatch_variable_count(code); ++i) {
            if (is_same(cyclewatch_variable_name(code, i), key)) {
                return true;
            }
        }
        return false;
    }

    // locals() lists the parameters first, in their order.
    [[nodiscard]] bool begins_with_parameters(PyCodeObject* code) const {
        const int parameters = code->co_argcount + code->co_kwonlyargcount +
                               static_cast<int>((code->co_flags & CO_VARARGS) != 0) +
                               static_cast<int>((code->co_flags & CO_VARKEYWORDS) != 0);
        const auto count = static_cast<std::size_t>(parameters);
        if (code->co_argcount == 0 || count > keys_.size()) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_same(cyclewatch_variable_name(code, static_cast<Py_ssize_t>(i)), keys_[i])) {
                return false;
            }
        }
        return true;
    }

    std::vector<PyObject*> keys_;
    std::vector<bool> explained_;
    std::size_t most_ = 0;
    PyCodeObject* code_ = nullptr;
    PyTypeObject* type_ = nullptr;
};

// The class whose methods are called with the first value of `dict`; null if that is not called
// `self` or `cls`. Cheap: asked of every dict.
PyTypeObject* class_of_self(PyObject* dict) {
    if (PyDict_GET_SIZE(dict) < kFewestKeys || PyDict_GET_SIZE(dict) > kMostKeys) {
        return nullptr;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    if (PyDict_Next(dict, &position, &key, &value) == 0) {
        return nullptr;
    }
    if (equals_ascii(key, "cls") && PyType_Check(value)) {
        return reinterpret_cast<PyTypeObject*>(value);
    }
    return equals_ascii(key, "self") ? Py_TYPE(value) : nullptr;
}

}  // namespace

std::optional<ObjectSummary> function_of_locals(PyObject* dict) {
    PyTypeObject* const type = class_of_self(dict);
    if (type == nullptr) {
        return std::nullopt;
    }
    Snapshot snapshot(dict);
    if (snapshot.empty()) {
        return std::nullopt;
    }
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) { snapshot.look_at(method.code, base); });
        return false;
    });
    return snapshot.result();
}

}  // namespace cyclewatch::capture
