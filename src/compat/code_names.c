// SPDX-License-Identifier: Apache-2.0
#include "compat/code_names.h"

PyObject* cyclewatch_variable_name(PyCodeObject* code, Py_ssize_t index) {
    PyObject* names = code->co_localsplusnames;
    if (names == NULL || index < 0 || !PyTuple_CheckExact(names) ||
        index >= PyTuple_GET_SIZE(names)) {
        return NULL;
    }
    PyObject* name = PyTuple_GET_ITEM(names, index);
    return PyUnicode_CheckExact(name) ? name : NULL;
}

Py_ssize_t cyclewatch_variable_count(PyCodeObject* code) {
    return code->co_nlocalsplus;
}

PyObject* cyclewatch_free_variable_name(PyCodeObject* code, Py_ssize_t index) {
    if (index < 0 || index >= code->co_nfreevars) {
        return NULL;
    }
    return cyclewatch_variable_name(code, code->co_nlocalsplus - code->co_nfreevars + index);
}

PyObject* cyclewatch_default_name(PyCodeObject* code, Py_ssize_t index, Py_ssize_t count) {
    if (count > code->co_argcount || index < 0 || index >= count) {
        return NULL;
    }
    return cyclewatch_variable_name(code, code->co_argcount - count + index);
}

int cyclewatch_line_at(PyCodeObject* code, int offset) {
    const int line = PyCode_Addr2Line(code, offset);
    return line > 0 ? line : code->co_firstlineno;
}

int cyclewatch_columns_at(PyCodeObject* code, int offset, int* start, int* end) {
    int line = -1;
    int end_line = -1;
    return PyCode_Addr2Location(code, offset, &line, start, &end_line, end) != 0 &&
           line == end_line && *start >= 0 && *end > *start;
}
