// SPDX-License-Identifier: Apache-2.0
#include "capture/locals_snapshot.h"

#include <algorithm>
#include <vector>

#include "bytecode/operand_stack.h"
#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"

namespace cyclewatch::capture {
namespace {

constexpr std::size_t kMinKeys = 3;  // required if the function does not call locals()
constexpr Py_ssize_t kMaxKeys = 200;
constexpr std::size_t kUnmatched = 8;  // at most one key in 8 may be unmatched

bool calls_locals(PyCodeObject* code) {
    return index_of_name(code, "locals") >= 0;
}

}  // namespace

// Matches the keys of a dict against the variables of functions.
class LocalsSnapshots::Match {
  public:
    // The match is empty if any key is not an identifier.
    explicit Match(PyObject* dict) {
        if (PyDict_GET_SIZE(dict) > kMaxKeys) {
            return;
        }
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

    // If the first key is the name of the first parameter of any of `functions`, compares the keys
    // with the variables of all `functions`.
    void compare(const std::vector<Function>& functions) {
        const bool starts = std::ranges::any_of(functions, [this](const Function& function) {
            return function.code->co_argcount > 0 &&
                   is_same(cyclewatch_variable_name(function.code, 0), keys_.front());
        });
        for (std::size_t f = 0; starts && f < functions.size(); ++f) {
            compare(functions[f]);
        }
    }

    [[nodiscard]] std::optional<ObjectSummary> result() const {
        const auto unmatched =
            static_cast<std::size_t>(std::count(matched_.begin(), matched_.end(), false));
        if (code_ == nullptr || unmatched * kUnmatched > keys_.size()) {
            return std::nullopt;
        }
        ObjectSummary summary = summarize_code_of(code_, module_);
        OnlyLine call;
        bytecode::visit_calls(code_, [&](const bytecode::Operand& called, int offset) {
            if (equals_ascii(called.name, "locals")) {
                call.note(code_, cyclewatch_line_at(code_, offset));
            }
            return false;
        });
        summary.line = call.is_known() ? static_cast<std::uint32_t>(call.line) : summary.line;
        return summary;
    }

  private:
    void compare(const Function& function) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (is_variable(function.code, keys_[i])) {
                matched_[i] = true;
                ++count;
            }
        }
        if (count > most_ && (function.calls_locals || keys_.size() >= kMinKeys) &&
            begins_with_parameters(function.code)) {
            most_ = count;
            code_ = function.code;
            module_ = function.module;
        }
    }

    // Variable names are interned, but keys need not be, so strings at different addresses may be
    // equal.
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

    // locals() lists the parameters first, in the order of co_varnames.
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
    std::string module_;
};

const std::vector<LocalsSnapshots::Function>& LocalsSnapshots::methods_of(PyTypeObject* type) {
    const auto [entry, fresh] = methods_.try_emplace(type);
    std::vector<Function>& functions = entry->second;
    if (fresh) {
        visit_bases(type, [&](PyTypeObject* base) {
            const std::string module = name_of_type(base).module;
            visit_methods(base, [&](const Method& method) {
                functions.push_back({method.code, module, calls_locals(method.code)});
            });
            return false;
        });
    }
    return functions;
}

const std::vector<LocalsSnapshots::Function>& LocalsSnapshots::callers_in(PyObject* module) {
    const auto [entry, fresh] = callers_.try_emplace(module);
    std::vector<Function>& functions = entry->second;
    if (fresh) {
        const std::string name(Utf8Text(find_in_dict(module, "__name__")).view());
        visit_module_code(module, [&](const ModuleCode& found) {
            visit_nested_code(found.code, [&](PyCodeObject* code, int /*depth*/) {
                if (calls_locals(code)) {
                    functions.push_back({code, name, true});
                }
            });
        });
    }
    return functions;
}

std::optional<ObjectSummary> LocalsSnapshots::function_of(PyObject* dict,
                                                          std::span<PyObject* const> modules) {
    Match match(dict);
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* first = nullptr;
    if (match.empty() || PyDict_Next(dict, &position, &key, &first) == 0) {
        return std::nullopt;
    }
    match.compare(
        methods_of(PyType_Check(first) ? reinterpret_cast<PyTypeObject*>(first) : Py_TYPE(first)));
    for (PyObject* const module : modules) {
        match.compare(callers_in(module));
    }
    return match.result();
}

}  // namespace cyclewatch::capture
