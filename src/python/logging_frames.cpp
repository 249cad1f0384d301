// SPDX-License-Identifier: Apache-2.0
#include "python/logging_frames.h"

#include <Python.h>

#include <string_view>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::python {
namespace {

constexpr int kMaxFrames = 100;  // handlers rarely have deeper call stacks

bool belongs_to_logging(PyCodeObject* code) noexcept {
    Py_ssize_t size = 0;
    const char* const path = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    if (path == nullptr) {
        PyErr_Clear();  // not valid UTF-8, or out of memory
        return false;
    }
    return std::string_view(path, static_cast<std::size_t>(size)).ends_with("/logging/__init__.py");
}

}  // namespace

bool is_in_logging() noexcept {
    const ErrorStash stash;
    OwnedRef frame = borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    for (int depth = 0; frame && depth < kMaxFrames; ++depth) {
        auto* const running = reinterpret_cast<PyFrameObject*>(frame.get());
        const OwnedRef code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(running)));
        if (belongs_to_logging(reinterpret_cast<PyCodeObject*>(code.get()))) {
            return true;
        }
        frame = steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(running)));
    }
    return false;
}

}  // namespace cyclewatch::python
