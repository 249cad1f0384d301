// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_functions.h"

#include "device/imported_module.h"

namespace cyclewatch::device::torch_api {

using python::steal;

OwnedRef get(const OwnedRef& descriptor, PyObject* object) noexcept {
    const descrgetfunc getter = descriptor ? Py_TYPE(descriptor.get())->tp_descr_get : nullptr;
    return steal(
        getter == nullptr
            ? nullptr
            : getter(descriptor.get(), object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

namespace {

// A function that takes its argument in a tuple gets one of ours, which is in no list of the
// collector: one that is made for the call comes to lie in CPython's free list afterwards, so that
// the program's next one is not counted by the collector.
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
    OwnedRef answer = steal(PyObject_Call(function, tuple, nullptr));
    PyTuple_SET_ITEM(tuple, 0, nullptr);
    return answer;
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

std::uint64_t number_of(const OwnedRef& answer) noexcept {
    const bool is_number = answer && PyLong_CheckExact(answer.get());
    const std::uint64_t number = is_number ? PyLong_AsUnsignedLongLong(answer.get()) : 0;
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

bool is_true(const OwnedRef& question) noexcept {
    const OwnedRef answer = steal(question ? PyObject_CallNoArgs(question.get()) : nullptr);
    return answer.get() == Py_True;
}

namespace {

OwnedRef from_dict(PyTypeObject* type, const char* name) noexcept {
    PyObject* const dict = type->tp_dict;
    return python::borrow(dict == nullptr ? nullptr : PyDict_GetItemString(dict, name));
}

PyTypeObject* type_in(PyObject* module, const char* name) noexcept {
    PyObject* const value = PyDict_GetItemString(PyModule_GetDict(module), name);
    return value != nullptr && PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)
                                                   : nullptr;
}

// By the flag that importlib keeps in the module's spec.
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
    // What is asked of torch while its import is under way sets up what the import would in its
    // own time.
    if (top == nullptr || native == nullptr || is_being_imported(top)) {
        return false;
    }
    torch.tensor = type_in(top, "Tensor");
    torch.tensor_base = type_in(native, "TensorBase");
    torch.storage_base = type_in(native, "StorageBase");
    torch.storage = type_in(top, "UntypedStorage");
    torch.device = type_in(native, "device");
    if (torch.tensor == nullptr || torch.tensor_base == nullptr || torch.storage_base == nullptr ||
        torch.device == nullptr || torch.storage == nullptr) {
        return false;
    }
    PyObject* const natives = PyModule_GetDict(native);
    torch.disable_torch_function =
        python::borrow(PyDict_GetItemString(natives, "DisableTorchFunction"));
    torch.mode_enabled =
        python::borrow(PyDict_GetItemString(natives, "_is_torch_function_mode_enabled"));
    torch.untyped_storage = from_dict(torch.tensor_base, "untyped_storage");
    torch.has_storage = python::borrow(PyDict_GetItemString(natives, "_has_storage"));
    torch.data_address = python::borrow(PyDict_GetItemString(natives, "_data_address"));
    torch.storage_address = python::borrow(PyDict_GetItemString(natives, "_storage_address"));
    torch.storage_use_count = python::borrow(PyDict_GetItemString(natives, "_storage_Use_Count"));
    torch.is_nested = from_dict(torch.tensor_base, "is_nested");
    torch.layout = from_dict(torch.tensor_base, "layout");
    torch.strided = python::borrow(PyDict_GetItemString(PyModule_GetDict(top), "strided"));
    torch.is_view = from_dict(torch.tensor_base, "_is_view");
    torch.is_inference = from_dict(torch.tensor_base, "is_inference");
    torch.version = from_dict(torch.tensor_base, "_version");
    torch.is_leaf = from_dict(torch.tensor_base, "is_leaf");
    torch.retains_grad = from_dict(torch.tensor_base, "retains_grad");
    torch.grad = from_dict(torch.tensor_base, "grad");
    torch.use_count = from_dict(torch.tensor_base, "_use_count");
    torch.shape = from_dict(torch.tensor_base, "shape");
    torch.dtype = from_dict(torch.tensor_base, "dtype");
    torch.is_tracing = python::borrow(PyDict_GetItemString(natives, "_is_tracing"));
    torch.storage_device = from_dict(torch.storage_base, "device");
    torch.storage_cdata = from_dict(torch.storage_base, "_cdata");
    torch.storage_bytes = from_dict(torch.storage_base, "nbytes");
    torch.storage_data_ptr = from_dict(torch.storage_base, "data_ptr");
    torch.storage_weak_ref = from_dict(torch.storage_base, "_weak_ref");
    PyObject* const storage_type = reinterpret_cast<PyObject*>(torch.storage_base);
    torch.storage_expired = steal(PyObject_GetAttrString(storage_type, "_expired"));
    torch.storage_free_weak_ref = steal(PyObject_GetAttrString(storage_type, "_free_weak_ref"));
    torch.device_type = from_dict(torch.device, "type");
    torch.device_index = from_dict(torch.device, "index");
    return torch.disable_torch_function && torch.mode_enabled && torch.untyped_storage &&
           torch.data_address && torch.layout && torch.strided && torch.is_view &&
           torch.is_inference && torch.version && torch.shape && torch.dtype &&
           torch.storage_device && torch.storage_bytes && torch.storage_data_ptr &&
           torch.storage_weak_ref && torch.storage_expired && torch.storage_free_weak_ref &&
           torch.device_type && torch.device_index;
}

}  // namespace cyclewatch::device::torch_api
