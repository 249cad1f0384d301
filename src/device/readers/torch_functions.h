// SPDX-License-Identifier: Apache-2.0
// The C functions of torch that we call, and how to call them.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: no user code if the argument is a storage, or
// if it is a tensor and __torch_function__ is disabled (WithoutTorchFunction).
#pragma once

#include <Python.h>

#include <cstdint>

#include "compat/gc_list.h"
#include "python/references.h"

namespace cyclewatch::device::torch_api {

using python::OwnedRef;

// A module in sys.modules, borrowed; null if it is not imported. May leave a Python error.
[[nodiscard]] PyObject* imported(const char* name) noexcept;

// Optional members are null if this torch version lacks the function or attribute.
struct TorchFunctions {
    PyTypeObject* tensor_base = nullptr;    // torch._C.TensorBase
    PyTypeObject* storage_base = nullptr;   // torch._C.StorageBase
    PyTypeObject* tensor = nullptr;         // torch.Tensor
    PyTypeObject* storage = nullptr;        // torch.UntypedStorage
    PyTypeObject* device = nullptr;         // torch.device
    PyTypeObject* function_base = nullptr;  // torch._C._FunctionBase; optional
    PyTypeObject* saved_tensor = nullptr;   // null: unknown
    OwnedRef disable_torch_function;        // torch._C.DisableTorchFunction
    OwnedRef disable_torch_dispatch;        // torch._C._DisableTorchDispatch; optional
    OwnedRef mode_enabled;                  // torch._C._is_torch_function_mode_enabled
    OwnedRef untyped_storage;               // TensorBase.untyped_storage
    OwnedRef has_storage;                   // torch._C._has_storage; optional
    OwnedRef data_address;                  // torch._C._data_address
    OwnedRef storage_address;               // torch._C._storage_address; optional
    OwnedRef storage_use_count;             // torch._C._storage_Use_Count; optional
    OwnedRef is_nested;                     // TensorBase.is_nested (getset); optional
    OwnedRef layout;                        // TensorBase.layout (getset)
    OwnedRef strided;                       // torch.strided
    OwnedRef is_view;                       // TensorBase._is_view
    OwnedRef base;                          // TensorBase._base (getset); optional
    OwnedRef tensor_bytes;                  // TensorBase.nbytes (getset); optional
    OwnedRef version;                       // TensorBase._version (getset)
    OwnedRef is_leaf;                       // TensorBase.is_leaf (getset); optional
    OwnedRef retains_grad;                  // TensorBase.retains_grad (getset); optional
    OwnedRef grad;                          // TensorBase.grad (getset); optional
    OwnedRef grad_fn;                       // TensorBase.grad_fn (getset); optional
    OwnedRef post_accumulate_hooks;         // TensorBase._post_accumulate_grad_hooks; optional
    OwnedRef use_count;                     // TensorBase._use_count; optional
    OwnedRef tensor_cdata;                  // TensorBase._cdata (getset); optional
    OwnedRef shape;                         // TensorBase.shape (getset)
    OwnedRef dtype;                         // TensorBase.dtype (getset)
    OwnedRef is_tracing;                    // torch._C._is_tracing; optional
    OwnedRef storage_device;                // StorageBase.device (getset)
    OwnedRef storage_cdata;                 // StorageBase._cdata (getset); optional
    OwnedRef storage_bytes;                 // StorageBase.nbytes
    OwnedRef storage_data_ptr;              // StorageBase.data_ptr
    OwnedRef storage_weak_ref;              // StorageBase._weak_ref
    OwnedRef storage_expired;               // StorageBase._expired
    OwnedRef storage_free_weak_ref;         // StorageBase._free_weak_ref
    OwnedRef device_type;                   // torch.device.type (getset)
    OwnedRef device_index;                  // torch.device.index (getset)
};

// Returns false if torch is not fully imported or lacks a required function.
[[nodiscard]] bool fetch(TorchFunctions& torch) noexcept;

// Reads an attribute of `object` through its C descriptor. Null with an error set if the getter
// raises; null without an error if `descriptor` is null.
[[nodiscard]] OwnedRef get(const OwnedRef& descriptor, PyObject* object) noexcept;

// Calls a function with one argument. Null in the same cases as get(). Does not change CPython's
// tuple free lists.
[[nodiscard]] OwnedRef call(const OwnedRef& function, PyObject* argument) noexcept;

// The value of an exact int; 0 for null and for other objects, such as symbolic sizes. Clears the
// Python error.
[[nodiscard]] std::uint64_t number_of(const OwnedRef& result) noexcept;

// Returns the result of `access`. torch creates the Python object of a gradient, base or storage on
// first access, and keeps it alive as long as the C++ object exists. Increments `created` if
// `access` created the Python object.
template <typename Access>
[[nodiscard]] OwnedRef get_counted(Access access, int& created) {
    const int young_count = cw_young_count();
    OwnedRef object = access();
    if (object && cw_young_count() > young_count && PyObject_IS_GC(object.get()) != 0) {
        ++created;
    }
    return object;
}

// True if reading `grad` or `grad_fn` has no side effect. If the base of a view was modified,
// autograd regenerates the view's graph node by calling operators, which are visible to dispatch
// modes and profilers. The version counter shows whether the base was modified.
[[nodiscard]] bool may_read_graph(const TorchFunctions& torch, PyObject* tensor) noexcept;
// True if reading `grad` has no side effect either: torch issues a Python warning if the tensor is
// neither a leaf nor retains its gradient.
[[nodiscard]] bool may_read_gradient(const TorchFunctions& torch, PyObject* tensor) noexcept;

// Calls a function without arguments. False if `function` is null or the result is not True.
[[nodiscard]] bool is_true(const OwnedRef& function) noexcept;

// While an instance exists, torch's C functions ignore the __torch_function__ of subclasses and
// every TorchFunctionMode, such as the one that torch.set_default_device() installs.
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

// torch.compile() traces every Python function called from a compiled function, including
// cyclewatch's own functions if a notification is delivered while the compiled function runs.
//
// Disables compilation on the calling thread while an instance exists, like
// torch.compiler.disable(). No-op if torch's compiler is not imported. REQUIRES: GIL held. RUNS
// PYTHON: never. Preserves a pending error.
class CompilerPause {
  public:
    CompilerPause() noexcept;
    CompilerPause(const CompilerPause&) = delete;
    CompilerPause& operator=(const CompilerPause&) = delete;
    ~CompilerPause();

  private:
    OwnedRef set_callback_;  // torch._C._dynamo.eval_frame.set_eval_frame
    OwnedRef callback_;      // the previous callback; null if there is nothing to restore
};

}  // namespace cyclewatch::device::torch_api
