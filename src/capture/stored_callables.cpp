// SPDX-License-Identifier: Apache-2.0
#include "capture/stored_callables.h"

#include "capture/class_code.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"
#include "compat/operand_stack.h"

namespace cyclewatch::capture {
namespace {

PyCodeObject* code_of(PyObject* function) noexcept {
    return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
}

// Finds calls to `partial` that may have a given function as an argument.
class PartialCalls {
  public:
    explicit PartialCalls(PyObject* function) : function_(code_of(function)) {}

    // `code` belongs to a function or method of the module that defines the given function.
    void search(PyCodeObject* code) {
        const bool defines = code != function_ && contains_code(code, function_);
        search(code, defines, 0);
    }

    [[nodiscard]] const OnlyLine& result() const noexcept {
        return with_name_.is_known() ? with_name_ : in_definer_;
    }

  private:
    struct Visit {
        PartialCalls& calls;
        PyCodeObject* code;
        bool defines;

        static int call(const cyclewatch_operand* called, int offset, void* arg) noexcept {
            const auto& visit = *static_cast<const Visit*>(arg);
            if (!equals_ascii(called->name, "partial")) {
                return 0;
            }
            const int line = cyclewatch_line_at(visit.code, offset);
            // Comparing addresses is enough, because code objects intern all names.
            if (called->first_argument == visit.calls.function_->co_name) {
                visit.calls.with_name_.note(visit.code, line);
            }
            if (visit.defines) {
                visit.calls.in_definer_.note(visit.code, line);
            }
            return 0;
        }
    };

    void search(PyCodeObject* code, bool defines, int depth) {
        if (!has_file(code)) {
            return;
        }
        if (index_of_name(code, "partial") >= 0) {
            Visit visit{*this, code, defines};
            cyclewatch_visit_calls(code, Visit::call, &visit);
        }
        visit_inner_code(
            code, depth, [&](PyCodeObject* inner) { search(inner, defines, depth + 1); });
    }

    PyCodeObject* function_;
    OnlyLine with_name_;
    OnlyLine in_definer_;
};

CallableSite at(PyCodeObject* code, int line, bool is_creation) {
    CallableSite site;
    if (has_file(code) && line > 0) {
        site.path = path_of(code);
        site.line = static_cast<std::uint32_t>(line);
        site.is_creation = is_creation;
    }
    return site;
}

}  // namespace

PyObject* underlying_function(PyObject* callable) noexcept {
    for (int depth = 0; callable != nullptr && depth < kMaxNesting; ++depth) {
        if (PyFunction_Check(callable)) {
            return callable;
        }
        callable = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable)
                                            : find_member(callable, "func");
    }
    return nullptr;
}

PyObject* globals_of(PyObject* object) {
    if (PyObject* const function = underlying_function(object)) {
        PyObject* const globals = PyFunction_GET_GLOBALS(function);
        return PyDict_CheckExact(globals) ? globals : nullptr;
    }
    PyTypeObject* const type = Py_TYPE(object);
    return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)
               ? globals_of_module(name_of_type(type).module)
               : nullptr;
}

CallableSite site_of_partial(PyObject* partial) {
    PyObject* const function = underlying_function(partial);
    if (function == nullptr) {
        return {};
    }
    PartialCalls calls(function);
    visit_module_code(globals_of(function),
                      [&](const ModuleCode& found) { calls.search(found.code); });
    if (const OnlyLine& line = calls.result(); line.is_known()) {
        return at(line.code, line.line, true);
    }
    return at(code_of(function), code_of(function)->co_firstlineno, false);
}

}  // namespace cyclewatch::capture
