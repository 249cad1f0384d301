// SPDX-License-Identifier: Apache-2.0
#include "capture/end_method.h"

#include <array>

#include "capture/class_code.h"
#include "capture/labelers/text.h"

namespace cyclewatch::capture {
namespace {

constexpr std::array<std::string_view, 7> kNames{
    "close", "teardown", "shutdown", "release", "stop", "dispose", "__exit__"};

PyCodeObject* code_of_method(PyTypeObject* type, std::string_view name) {
    PyCodeObject* code = nullptr;
    visit_bases(type, [&](PyTypeObject* base) {
        if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) || base->tp_dict == nullptr) {
            return false;
        }
        PyObject* const entry = find_in_dict(base->tp_dict, name);
        if (entry != nullptr && PyFunction_Check(entry)) {
            code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(unwrap_decorators(entry)));
        }
        return entry != nullptr;
    });
    return code != nullptr && has_file(code) ? code : nullptr;
}

}  // namespace

EndMethod find_end_method(PyTypeObject* type) {
    for (const std::string_view name : kNames) {
        if (PyCodeObject* const code = code_of_method(type, name); code != nullptr) {
            return {name, path_of(code), code->co_firstlineno};
        }
    }
    return {};
}

}  // namespace cyclewatch::capture
