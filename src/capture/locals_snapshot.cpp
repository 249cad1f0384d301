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

constexpr Py_ssize_t kMinKeys = 3;
constexpr Py_ssize_t kMaxKeys = 200;
constexpr std::size_t kUnmatched = 8;  // one in so many keys need not be a variable of the class

// Matches the keys of a dict with the variables of methods.
class Snapshot {
  public:
    // Has no keys if any key is not an identifier.
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
        matched_.assign(keys_.size(), false);
    }

    [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }

    void match(PyCodeObject* code, PyTypeObject* type) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (is_variable(code, keys_[i])) {
                matched_[i] = true;
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
        const auto unmatched =
            static_cast<std::size_t>(std::count(matched_.begin(), matched_.end(), false));
        if (code_ == nullptr || unmatched * kUnmatched > keys_.size()) {
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
        if (equals_ascii(called->name, "locals")) {
            const int line = cyclewatch_line_at(call.code, offset);
            call.several = call.several || (call.line != 0 && call.line != line);
            call.line = line;
        }
        return 0;
    }

    // Most names are interned, but keys need not be.
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
    std::vector<bool> matched_;
    std::size_t most_ = 0;
    PyCodeObject* code_ = nullptr;
    PyTypeObject* type_ = nullptr;
};

// The class of the first value of `dict`, or that value for `cls`; null if the first key is neither
// `self` nor `cls`. Called for every dict, so it must be cheap.
PyTypeObject* class_of_self(PyObject* dict) {
    if (PyDict_GET_SIZE(dict) < kMinKeys || PyDict_GET_SIZE(dict) > kMaxKeys) {
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
        visit_methods(base, [&](const Method& method) { snapshot.match(method.code, base); });
        return false;
    });
    return snapshot.result();
}

}  // namespace cyclewatch::capture
