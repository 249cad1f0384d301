// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_functions.h"

#include <span>

#include "python/guards.h"

namespace cyclewatch::device::torch_api {

using python::steal;

PyObject* imported(const char* name) noexcept {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
    return module != nullptr && PyModule_Check(module) ? module : nullptr;
}

OwnedRef get(const OwnedRef& descriptor, PyObject* object) noexcept {
    const descrgetfunc getter = descriptor ? Py_TYPE(descriptor.get())->tp_descr_get : nullptr;
    return steal(
        getter == nullptr
            ? nullptr
            : getter(descriptor.get(), object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

namespace {

// Calls a METH_VARARGS function with an untracked tuple that is reused. A tuple created for the
// call would end up in CPython's free list, and the collector would not count the program's next
// tuple.
OwnedRef call_with_tuple(PyObject* function, PyObject* argument) noexcept {
    static PyObject* tuple = nullptr;
    if (tuple == nullptr) {
        tuple = PyTuple_New(1);
        if (tuple == nullptr) {
            return {};
        }
        PyObject_GC_UnTrack(tuple);
    }
    PyTuple_SET_ITEM(tuple, 0, argument);  // borrowed for the call
    OwnedRef result = steal(PyObject_Call(function, tuple, nullptr));
    PyTuple_SET_ITEM(tuple, 0, nullptr);
    return result;
}

bool takes_tuple(PyObject* function) noexcept {
    return PyCFunction_Check(function) != 0 &&
           (PyCFunction_GET_FLAGS(function) & METH_VARARGS) != 0;
}

}  // namespace

OwnedRef call(const OwnedRef& function, PyObject* argument) noexcept {
    if (!function) {
        return {};
    }
    return takes_tuple(function.get()) ? call_with_tuple(function.get(), argument)
                                       : steal(PyObject_CallOneArg(function.get(), argument));
}

std::uint64_t number_of(const OwnedRef& result) noexcept {
    const bool is_number = result && PyLong_CheckExact(result.get());
    const std::uint64_t number = is_number ? PyLong_AsUnsignedLongLong(result.get()) : 0;
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

bool may_read_graph(const TorchFunctions& torch, PyObject* tensor) noexcept {
    if (call(torch.is_view, tensor).get() != Py_True) {
        return true;
    }
    const OwnedRef version = get(torch.version, tensor);
    PyErr_Clear();  // an inference tensor has no version
    return version && number_of(version) == 0;
}

bool may_read_gradient(const TorchFunctions& torch, PyObject* tensor) noexcept {
    return may_read_graph(torch, tensor) && (get(torch.is_leaf, tensor).get() == Py_True ||
                                             get(torch.retains_grad, tensor).get() == Py_True);
}

bool is_true(const OwnedRef& function) noexcept {
    const OwnedRef result = steal(function ? PyObject_CallNoArgs(function.get()) : nullptr);
    return result.get() == Py_True;
}

namespace {

struct Field {
    OwnedRef TorchFunctions::*member;
    const char* name;
    bool required = true;
};

using Torch = TorchFunctions;
constexpr bool kOptional = false;

constexpr Field kNativeFunctions[] = {
    {&Torch::disable_torch_function, "DisableTorchFunction"},
    {&Torch::disable_torch_dispatch, "_DisableTorchDispatch", kOptional},
    {&Torch::mode_enabled, "_is_torch_function_mode_enabled"},
    {&Torch::has_storage, "_has_storage", kOptional},
    {&Torch::data_address, "_data_address"},
    {&Torch::storage_address, "_storage_address", kOptional},
    {&Torch::storage_use_count, "_storage_Use_Count", kOptional},
    {&Torch::is_tracing, "_is_tracing", kOptional},
};
constexpr Field kTensorAttributes[] = {
    {&Torch::untyped_storage, "untyped_storage"},
    {&Torch::is_nested, "is_nested", kOptional},
    {&Torch::layout, "layout"},
    {&Torch::is_view, "_is_view"},
    {&Torch::base, "_base", kOptional},
    {&Torch::version, "_version"},
    {&Torch::is_leaf, "is_leaf", kOptional},
    {&Torch::retains_grad, "retains_grad", kOptional},
    {&Torch::grad, "grad", kOptional},
    {&Torch::grad_fn, "grad_fn", kOptional},
    {&Torch::post_accumulate_hooks, "_post_accumulate_grad_hooks", kOptional},
    {&Torch::use_count, "_use_count", kOptional},
    {&Torch::tensor_cdata, "_cdata", kOptional},
    {&Torch::shape, "shape"},
    {&Torch::tensor_bytes, "nbytes", kOptional},
    {&Torch::dtype, "dtype"},
};
constexpr Field kStorageAttributes[] = {
    {&Torch::storage_device, "device"},
    {&Torch::storage_cdata, "_cdata", kOptional},
    {&Torch::storage_bytes, "nbytes"},
    {&Torch::storage_data_ptr, "data_ptr"},
    {&Torch::storage_weak_ref, "_weak_ref"},
};
constexpr Field kDeviceAttributes[] = {
    {&Torch::device_type, "type"},
    {&Torch::device_index, "index"},
};

// False if a required entry is missing.
bool fetch_all(PyObject* dict, std::span<const Field> fields, TorchFunctions& torch) noexcept {
    for (const Field& field : fields) {
        OwnedRef& value = torch.*field.member;
        value = python::borrow(dict == nullptr ? nullptr : PyDict_GetItemString(dict, field.name));
        if (field.required && !value) {
            return false;
        }
    }
    return true;
}

PyTypeObject* type_in(PyObject* module, const char* name) noexcept {
    PyObject* const value = PyDict_GetItemString(PyModule_GetDict(module), name);
    return value != nullptr && PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)
                                                   : nullptr;
}

// Reads the flag that importlib sets in the module's spec.
bool is_being_imported(PyObject* module) noexcept {
    PyObject* const spec = PyDict_GetItemString(PyModule_GetDict(module), "__spec__");
    const OwnedRef name = steal(PyUnicode_InternFromString("_initializing"));
    const OwnedRef flag =
        steal(spec != nullptr && name ? PyObject_GenericGetAttr(spec, name.get()) : nullptr);
    PyErr_Clear();
    return flag.get() == Py_True;
}

}  // namespace

bool fetch(TorchFunctions& torch) noexcept {
    PyObject* const top = imported("torch");
    PyObject* const native = imported("torch._C");
    // If torch were called while it is being imported, parts of torch would be initialized too
    // early.
    if (top == nullptr || native == nullptr || is_being_imported(top)) {
        return false;
    }
    torch.tensor = type_in(top, "Tensor");
    torch.tensor_base = type_in(native, "TensorBase");
    torch.storage_base = type_in(native, "StorageBase");
    torch.storage = type_in(top, "UntypedStorage");
    torch.device = type_in(native, "device");
    torch.function_base = type_in(native, "_FunctionBase");
    PyObject* const autograd = imported("torch._C._autograd");
    torch.saved_tensor = autograd != nullptr ? type_in(autograd, "SavedTensor") : nullptr;
    if (torch.tensor == nullptr || torch.tensor_base == nullptr || torch.storage_base == nullptr ||
        torch.device == nullptr || torch.storage == nullptr) {
        return false;
    }
    torch.strided = python::borrow(PyDict_GetItemString(PyModule_GetDict(top), "strided"));
    const bool complete = torch.strided &&
                          fetch_all(PyModule_GetDict(native), kNativeFunctions, torch) &&
                          fetch_all(torch.tensor_base->tp_dict, kTensorAttributes, torch) &&
                          fetch_all(torch.storage_base->tp_dict, kStorageAttributes, torch) &&
                          fetch_all(torch.device->tp_dict, kDeviceAttributes, torch);
    // Static methods are read as attributes, because their entries in the type's dict are
    // descriptors, not functions.
    PyObject* const storage_type = reinterpret_cast<PyObject*>(torch.storage_base);
    torch.storage_expired = steal(PyObject_GetAttrString(storage_type, "_expired"));
    torch.storage_free_weak_ref = steal(PyObject_GetAttrString(storage_type, "_free_weak_ref"));
    return complete && torch.storage_expired && torch.storage_free_weak_ref;
}

CompilerPause::CompilerPause() noexcept {
    const python::ErrorStash stash;
    PyObject* const module = imported("torch._C._dynamo.eval_frame");
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

}  // namespace cyclewatch::device::torch_api
