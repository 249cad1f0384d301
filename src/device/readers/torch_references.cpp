// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_references.h"

#include <algorithm>

#include "python/references.h"

namespace cyclewatch::device {

using python::OwnedRef;
using torch_api::call;
using torch_api::get;
using torch_api::number_of;

namespace {

// One reference is ours. torch holds the second reference as long as C++ code refers to the tensor
// or storage.
constexpr Py_ssize_t kOursAndTorchs = 2;

}  // namespace

std::uint64_t TorchReferences::use_count_of(PyObject* storage) const noexcept {
    return number_of(call(torch_->storage_use_count, get(torch_->storage_cdata, storage).get()));
}

Py_ssize_t TorchReferences::hidden(PyObject* object) const noexcept {
    if (PyType_IsSubtype(Py_TYPE(object), torch_->tensor_base) != 0) {
        return torch_->use_count && number_of(call(torch_->use_count, object)) > 1 ? 1 : 0;
    }
    const bool keeps_objects = alias_ != nullptr && alias_->has_marker() &&
                               torch_->storage_use_count && torch_->storage_cdata;
    return keeps_objects && use_count_of(object) > 1 ? 1 : 0;
}

void TorchReferences::count(PyObject* object, OwnerReading& reading) {
    if (!torch_->storage_address || !torch_->storage_use_count || !torch_->use_count) {
        return;
    }
    if (PyType_IsSubtype(Py_TYPE(object), torch_->storage_base) != 0) {
        reading.storage_references = use_count_of(object);
        reading.known_references = 1;
        return;
    }
    const OwnedRef address = call(torch_->storage_address, object);
    const auto tensor_references =
        static_cast<std::int64_t>(number_of(call(torch_->use_count, object)));
    if (!address || tensor_references == 0) {
        return;
    }
    reading.storage_references = number_of(call(torch_->storage_use_count, address.get()));
    // The tensor's Python object holds one reference to the tensor. Views, autograd or other C++
    // code hold the rest.
    reading.known_references = 1 - (tensor_references - 1);
    const std::uint64_t storage = number_of(address);
    add_base(object, storage, reading);
    add_storage_object(object, storage, reading);
}

// A view keeps its base alive even if no Python code refers to the base. For example, the result of
// a Linear layer may be a view of a tensor that only C++ code refers to.
void TorchReferences::add_base(PyObject* tensor, std::uint64_t storage, OwnerReading& reading) {
    if (call(torch_->is_view, tensor).get() != Py_True) {
        return;
    }
    int created = 0;
    const OwnedRef base =
        torch_api::get_counted([&] { return get(torch_->base, tensor); }, created);
    if (!base || base.get() == Py_None ||
        number_of(call(torch_->storage_address, base.get())) != storage) {
        return;
    }
    if (created > 0) {
        unshared_refcount_ = Py_REFCNT(base.get());
    } else if (unshared_refcount_ == 0 && alias_ != nullptr && alias_->has_marker()) {
        unshared_refcount_ = kOursAndTorchs;
    }
    reading.base = base.get();
    if (Py_REFCNT(base.get()) <= unshared_refcount_) {
        // All references to the base, except the one from its Python object, must come from dead
        // views.
        const auto references =
            static_cast<std::int64_t>(number_of(call(torch_->use_count, base.get())));
        reading.unshared.push_back({base.get(), 1 - (references - 1)});
    }
}

// The Python object of a storage refers to the storage. torch keeps the Python object alive as long
// as another C++ object refers to the storage. If Python code refers to the Python object, that
// object is an owner itself.
void TorchReferences::add_storage_object(PyObject* tensor,
                                         std::uint64_t storage,
                                         OwnerReading& reading) {
    if (alias_ == nullptr || !alias_->has_object(storage)) {
        return;
    }
    int created = 0;
    const OwnedRef object =
        torch_api::get_counted([&] { return call(torch_->untyped_storage, tensor); }, created);
    if (created > 0) {
        alias_->distrust_marker();
    } else if (object && Py_REFCNT(object.get()) == kOursAndTorchs) {
        reading.unshared.push_back({object.get(), 1});
    }
}

std::int64_t TorchReferences::known_to_gradient(PyObject* gradient) noexcept {
    return 1 - std::max<Py_ssize_t>(Py_REFCNT(gradient) - kOursAndTorchs, 0);
}

}  // namespace cyclewatch::device
