// SPDX-License-Identifier: Apache-2.0
#include "device/owner_registry.h"

#include "device/readers/cuda_array_interface.h"
#include "device/readers/registered.h"
#include "device/readers/torch_tensor.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::device {

struct OwnerRegistry::Impl {
    RegisteredReader registered;
    std::unique_ptr<OwnerReader> torch;
    std::unique_ptr<OwnerReader> cuda_arrays;
    python::OwnedRef torch_name = python::steal(PyUnicode_InternFromString("torch"));

    // An interned name, because this runs at the start of every collection.
    [[nodiscard]] static bool imported(const python::OwnedRef& name) noexcept {
        return name && PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get()) != nullptr;
    }
};

OwnerRegistry::OwnerRegistry() : impl_(std::make_unique<Impl>()) {}
OwnerRegistry::~OwnerRegistry() = default;

void OwnerRegistry::refresh() noexcept {
    const python::ErrorStash stash;
    if (impl_->torch == nullptr && Impl::imported(impl_->torch_name)) {
        impl_->torch = make_torch_reader();
    }
    if (impl_->cuda_arrays == nullptr && cuda_array_library_imported()) {
        impl_->cuda_arrays = make_cuda_array_interface_reader();
    }
}

bool OwnerRegistry::empty() const noexcept {
    return impl_->torch == nullptr && impl_->cuda_arrays == nullptr && impl_->registered.empty();
}

OwnerReader* OwnerRegistry::reader_for(PyTypeObject* type) const noexcept {
    // A reader that the user registered has precedence.
    if (impl_->registered.recognises(type)) {
        return &impl_->registered;
    }
    if (impl_->torch != nullptr && impl_->torch->recognises(type)) {
        return impl_->torch.get();
    }
    if (impl_->cuda_arrays != nullptr && impl_->cuda_arrays->recognises(type)) {
        return impl_->cuda_arrays.get();
    }
    return nullptr;
}

void OwnerRegistry::register_owner(PyTypeObject* type, PyObject* reader) {
    impl_->registered.add(type, reader);
}

bool OwnerRegistry::unregister_owner(PyTypeObject* type) {
    return impl_->registered.remove(type);
}

std::vector<std::string> OwnerRegistry::take_failures() {
    return impl_->registered.take_failures();
}

}  // namespace cyclewatch::device
