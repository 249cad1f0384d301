// SPDX-License-Identifier: Apache-2.0
#include "python/running_code.h"

#include <Python.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::python {
namespace {

// A handler is called from within logging, however deep it goes itself: it is seldom deeper.
constexpr int kFarthestLook = 100;

constexpr std::array<std::string_view, 4> kFiles{
    "/logging/__init__.py", "/logging/handlers.py", "/queue.py", "/multiprocessing/queues.py"};

bool is_of_logging(PyCodeObject* code) noexcept {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    if (text == nullptr) {
        PyErr_Clear();  // a name that is no text, or no memory
        return false;
    }
    const std::string_view path(text, static_cast<std::size_t>(size));
    return std::ranges::any_of(kFiles, [&](std::string_view file) { return path.ends_with(file); });
}

}  // namespace

bool is_in_logging() noexcept {
    const ErrorStash stash;
    OwnedRef frame = borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    for (int depth = 0; frame && depth < kFarthestLook; ++depth) {
        auto* const running = reinterpret_cast<PyFrameObject*>(frame.get());
        const OwnedRef code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(running)));
        if (is_of_logging(reinterpret_cast<PyCodeObject*>(code.get()))) {
            return true;
        }
        frame = steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(running)));
    }
    return false;
}

}  // namespace cyclewatch::python
