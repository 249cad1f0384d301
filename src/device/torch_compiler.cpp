// SPDX-License-Identifier: Apache-2.0
#include "device/torch_compiler.h"

#include <Python.h>

#include "device/readers/torch_functions.h"
#include "python/guards.h"

namespace cyclewatch::device {

using python::OwnedRef;
using python::steal;

CompilerPause::CompilerPause() noexcept {
    const python::ErrorStash stash;
    PyObject* const module = torch_api::imported("torch._C._dynamo.eval_frame");
    if (module == nullptr) {
        return;
    }
    set_callback_ =
        python::borrow(PyDict_GetItemString(PyModule_GetDict(module), "set_eval_frame"));
    if (set_callback_) {
        callback_ = steal(PyObject_CallOneArg(set_callback_.get(), Py_None));
    }
}

CompilerPause::~CompilerPause() {
    if (callback_) {
        const python::ErrorStash stash;
        const OwnedRef none = steal(PyObject_CallOneArg(set_callback_.get(), callback_.get()));
    }
}

}  // namespace cyclewatch::device
