// SPDX-License-Identifier: Apache-2.0
#include "capture/allocation_site.h"

#include <string>

#include "capture/labelers/text.h"
#include "compat/allocation_trace.h"
#include "python/references.h"

namespace cyclewatch::capture {
namespace {

// `call`: a (file name, line) tuple.
base::CallSite site_of(PyObject* call) {
    if (PyTuple_CheckExact(call) == 0 || PyTuple_GET_SIZE(call) != 2 ||
        PyLong_CheckExact(PyTuple_GET_ITEM(call, 1)) == 0) {
        return {};
    }
    const long line = PyLong_AsLong(PyTuple_GET_ITEM(call, 1));
    if (line <= 0) {
        PyErr_Clear();  // OverflowError
        return {};
    }
    return {std::string(Utf8Text(PyTuple_GET_ITEM(call, 0)).view()),
            static_cast<std::uint32_t>(line)};
}

}  // namespace

base::CallSite allocation_site(PyObject* object) {
    const python::OwnedRef traceback = python::steal(cyclewatch_allocation_traceback(object));
    if (!traceback || PyTuple_CheckExact(traceback.get()) == 0) {
        return {};
    }
    base::CallChoice choice;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(traceback.get()); ++i) {
        if (!choice.offer(site_of(PyTuple_GET_ITEM(traceback.get(), i)))) {
            break;
        }
    }
    return choice.take();
}

}  // namespace cyclewatch::capture
