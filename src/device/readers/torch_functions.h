// SPDX-License-Identifier: Apache-2.0
// The C functions of torch that its reader calls, and how they are called.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never user code, where the object asked is a
// tensor and torch functions are off (WithoutTorchFunction), or a storage.
#pragma once

#include <Python.h>

#include <cstdint>

#include "python/references.h"

namespace cyclewatch::device::torch_api {

using python::OwnedRef;

// By where they stand in torch._C.
struct TorchFunctions {
    PyTypeObject* tensor_base = nullptr;   // torch._C.TensorBase
    PyTypeObject* storage_base = nullptr;  // torch._C.StorageBase
    PyTypeObject* tensor = nullptr;        // torch.Tensor
    PyTypeObject* storage = nullptr;       // torch.UntypedStorage
    PyTypeObject* device = nullptr;        // torch.device
    OwnedRef disable_torch_function;       // torch._C.DisableTorchFunction
    OwnedRef mode_enabled;                 // torch._C._is_torch_function_mode_enabled
    OwnedRef untyped_storage;              // TensorBase.untyped_storage
    OwnedRef has_storage;                  // torch._C._has_storage; may be missing
    OwnedRef data_address;                 // torch._C._data_address
    OwnedRef storage_address;              // torch._C._storage_address; may be missing
    OwnedRef storage_use_count;            // torch._C._storage_Use_Count; missing in old versions
    OwnedRef is_nested;                    // TensorBase.is_nested (getset); may be missing
    OwnedRef layout;                       // TensorBase.layout (getset)
    OwnedRef strided;                      // torch.strided
    OwnedRef is_view;                      // TensorBase._is_view
    OwnedRef is_inference;                 // TensorBase.is_inference
    OwnedRef version;                      // TensorBase._version (getset)
    OwnedRef is_leaf;                      // TensorBase.is_leaf (getset)
    OwnedRef retains_grad;                 // TensorBase.retains_grad (getset)
    OwnedRef grad;                         // TensorBase.grad (getset)
    OwnedRef use_count;                    // TensorBase._use_count; missing in old versions
    OwnedRef shape;                        // TensorBase.shape (getset)
    OwnedRef dtype;                        // TensorBase.dtype (getset)
    OwnedRef is_tracing;                   // torch._C._is_tracing
    OwnedRef storage_device;               // StorageBase.device (getset)
    OwnedRef storage_cdata;                // StorageBase._cdata (getset); may be missing
    OwnedRef storage_bytes;                // StorageBase.nbytes
    OwnedRef storage_data_ptr;             // StorageBase.data_ptr
    OwnedRef storage_weak_ref;             // StorageBase._weak_ref
    OwnedRef storage_expired;              // StorageBase._expired
    OwnedRef storage_free_weak_ref;        // StorageBase._free_weak_ref
    OwnedRef device_type;                  // torch.device.type (getset)
    OwnedRef device_index;                 // torch.device.index (getset)
};

// False if torch is not imported, or not whole.
[[nodiscard]] bool fetch(TorchFunctions& torch) noexcept;

// What a C descriptor answers for `object`; null with an error set if it refuses, and without one
// if this torch has no such descriptor.
[[nodiscard]] OwnedRef get(const OwnedRef& descriptor, PyObject* object) noexcept;

// Likewise of a function of one argument. Leaves CPython's free lists of tuples as they are.
[[nodiscard]] OwnedRef call(const OwnedRef& function, PyObject* argument) noexcept;

// 0 as well for what is no number: a symbol of a size, or an answer that was refused. Leaves no
// error set.
[[nodiscard]] std::uint64_t number_of(const OwnedRef& answer) noexcept;

// False as well where this torch has no such question.
[[nodiscard]] bool is_true(const OwnedRef& question) noexcept;

// For the scope: torch's C functions look neither at a subclass's __torch_function__ nor at a
// TorchFunctionMode, such as torch.set_default_device() leaves behind.
class WithoutTorchFunction {
  public:
    explicit WithoutTorchFunction(const TorchFunctions& torch) noexcept
        : guard_(python::steal(PyObject_CallNoArgs(torch.disable_torch_function.get()))) {
        entered_ = guard_ && python::steal(PyObject_CallMethod(guard_.get(), "__enter__", nullptr));
    }
    WithoutTorchFunction(const WithoutTorchFunction&) = delete;
    WithoutTorchFunction& operator=(const WithoutTorchFunction&) = delete;
    ~WithoutTorchFunction() {
        if (entered_) {
            const OwnedRef result = python::steal(
                PyObject_CallMethod(guard_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
            PyErr_Clear();
        }
    }
    [[nodiscard]] bool entered() const noexcept { return entered_; }

  private:
    OwnedRef guard_;
    bool entered_ = false;
};

}  // namespace cyclewatch::device::torch_api
