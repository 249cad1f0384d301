// SPDX-License-Identifier: Apache-2.0
#include "capture/stored_callables.h"

#include "bytecode/operand_stack.h"
#include "capture/class_code.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"

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
        visit_nested_code(code,
                          [&](PyCodeObject* nested, int /*depth*/) { search(nested, defines); });
    }

    [[nodiscard]] const OnlyLine& result() const noexcept {
        return with_name_.is_known() ? with_name_ : in_definer_;
    }

  private:
    void search(PyCodeObject* code, bool defines) {
        if (has_file(code) && index_of_name(code, "partial") >= 0) {
            bytecode::visit_calls(code, [&](const bytecode::Operand& called, int offset) {
                if (equals_ascii(called.name, "partial")) {
                    note(code, called, cyclewatch_line_at(code, offset), defines);
                }
                return false;
            });
        }
    }

    void note(PyCodeObject* code, const bytecode::Operand& called, int line, bool defines) {
        // Comparing addresses is enough, because code objects intern all names.
        if (called.first_argument == function_->co_name) {
            with_name_.note(code, line);
        }
        if (defines) {
            in_definer_.note(code, line);
        }
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
