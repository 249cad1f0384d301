// SPDX-License-Identifier: Apache-2.0
// An interpreter inside the test binary, and scripts that create the objects of a test. The
// interpreter starts on first use and is never finalised, because not all extension modules can be
// initialised twice.
#pragma once

#include <Python.h>

#include <gtest/gtest.h>

#include <string>

namespace cyclewatch::test {

// Starts the interpreter, whose GIL the calling thread then holds. Idempotent.
inline void start_python() {
    if (Py_IsInitialized() == 0) {
        Py_InitializeEx(0);
    }
}

// Clears the pending Python exception and returns its repr; "" if there is none.
inline std::string take_python_error() {
    if (PyErr_Occurred() == nullptr) {
        return {};
    }
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* text = PyObject_Repr(value);
    std::string result = text == nullptr ? "unprintable error" : PyUnicode_AsUTF8(text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    return result;
}

// Runs a script as module `module` in file `file` and holds its namespace. An exception fails the
// test. The destructor clears the namespace.
class PythonScript {
  public:
    explicit PythonScript(const std::string& source,
                          const char* module = "sample",
                          const char* file = "/samples/sample.py") {
        start_python();
        names_ = PyDict_New();
        PyObject* name = PyUnicode_FromString(module);
        PyDict_SetItemString(names_, "__name__", name);
        Py_DECREF(name);
        PyDict_SetItemString(names_, "__builtins__", PyEval_GetBuiltins());
        PyObject* code = Py_CompileString(source.c_str(), file, Py_file_input);
        PyObject* result = code == nullptr ? nullptr : PyEval_EvalCode(code, names_, names_);
        Py_XDECREF(code);
        EXPECT_NE(result, nullptr) << take_python_error();
        Py_XDECREF(result);
    }
    PythonScript(const PythonScript&) = delete;
    PythonScript& operator=(const PythonScript&) = delete;
    ~PythonScript() {
        PyDict_Clear(names_);
        Py_DECREF(names_);
        PyErr_Clear();
    }

    // Borrowed reference to a global of the script. A missing name fails the test.
    PyObject* operator[](const char* name) const {
        PyObject* value = PyDict_GetItemString(names_, name);
        EXPECT_NE(value, nullptr) << "the script has no " << name;
        return value;
    }

    // Evaluates an expression in the script's namespace. The result is a borrowed reference, valid
    // as long as the script.
    PyObject* eval(const std::string& expression) {
        PyObject* value = PyRun_String(expression.c_str(), Py_eval_input, names_, names_);
        EXPECT_NE(value, nullptr) << expression << ": " << take_python_error();
        if (value != nullptr) {
            const std::string name = "_result_" + std::to_string(results_++);
            PyDict_SetItemString(names_, name.c_str(), value);
            Py_DECREF(value);
        }
        return value;
    }

    [[nodiscard]] PyObject* names() const noexcept { return names_; }

  private:
    PyObject* names_ = nullptr;
    int results_ = 0;
};

// Counts allocations of the interpreter until destroyed.
class AllocationCounter {
  public:
    AllocationCounter() {
        for (Domain& domain : domains_) {
            PyMem_GetAllocator(domain.id, &domain.original);
            PyMemAllocatorEx counting{&domain, malloc, calloc, realloc, free};
            PyMem_SetAllocator(domain.id, &counting);
        }
    }
    AllocationCounter(const AllocationCounter&) = delete;
    AllocationCounter& operator=(const AllocationCounter&) = delete;
    ~AllocationCounter() {
        for (Domain& domain : domains_) {
            PyMem_SetAllocator(domain.id, &domain.original);
        }
    }
    [[nodiscard]] std::size_t count() const noexcept {
        return domains_[0].count + domains_[1].count;
    }

  private:
    struct Domain {
        PyMemAllocatorDomain id;
        PyMemAllocatorEx original{};
        std::size_t count = 0;
    };
    static void* malloc(void* context, std::size_t size) {
        auto* domain = static_cast<Domain*>(context);
        ++domain->count;
        return domain->original.malloc(domain->original.ctx, size);
    }
    static void* calloc(void* context, std::size_t count, std::size_t size) {
        auto* domain = static_cast<Domain*>(context);
        ++domain->count;
        return domain->original.calloc(domain->original.ctx, count, size);
    }
    static void* realloc(void* context, void* memory, std::size_t size) {
        auto* domain = static_cast<Domain*>(context);
        ++domain->count;
        return domain->original.realloc(domain->original.ctx, memory, size);
    }
    static void free(void* context, void* memory) {
        auto* domain = static_cast<Domain*>(context);
        domain->original.free(domain->original.ctx, memory);
    }
    Domain domains_[2] = {{PYMEM_DOMAIN_OBJ}, {PYMEM_DOMAIN_MEM}};
};

}  // namespace cyclewatch::test
