// SPDX-License-Identifier: Apache-2.0
#include "device/owner_registry.h"

#include "device/readers/readers.h"
#include "device/readers/torch_threads.h"
#include "python/guards.h"

namespace cyclewatch::device {
namespace {

bool is_imported(const python::OwnedRef& name) noexcept {
    return name && PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get()) != nullptr;
}

}  // namespace

void OwnerRegistry::refresh() noexcept {
    const python::ErrorStash stash;
    if (torch_ == nullptr && is_imported(torch_name_)) {
        sees_library_ = true;
        torch_ = make_torch_reader();
        ++version_;
    }
    if (cuda_arrays_ == nullptr && cuda_array_library_imported()) {
        cuda_arrays_ = make_cuda_array_interface_reader();
        ++version_;
    }
    if (jax_ == nullptr && is_imported(jax_name_)) {
        sees_library_ = true;
        jax_ = make_jax_reader();
        ++version_;
    }
}

void OwnerRegistry::refresh_for_live_owners() {
    refresh();
    if (torch_ != nullptr) {
        wait_for_assigned_gradients();
    }
}

bool OwnerRegistry::empty() const noexcept {
    return torch_ == nullptr && cuda_arrays_ == nullptr && jax_ == nullptr && registered_.empty();
}

void OwnerRegistry::add_graph_targets(std::span<PyObject* const> objects,
                                      std::vector<GraphTarget>& targets,
                                      UnreadGraphs& unread) {
    if (torch_ != nullptr) {
        torch_->add_graph_targets(objects, targets, unread);
    }
}

void OwnerRegistry::add_hidden_references(std::span<PyObject* const> objects,
                                          const TorchLayout& layout,
                                          collector::HiddenReferences& hidden) {
    if (torch_ != nullptr) {
        torch_->add_hidden_references(objects, layout, hidden);
    }
}

OwnerReader* OwnerRegistry::reader_for(PyTypeObject* type) noexcept {
    // A user-registered reader takes precedence.
    if (registered_.recognises(type)) {
        return &registered_;
    }
    if (torch_ != nullptr && torch_->recognises(type)) {
        return torch_.get();
    }
    if (cuda_arrays_ != nullptr && cuda_arrays_->recognises(type)) {
        return cuda_arrays_.get();
    }
    if (jax_ != nullptr && jax_->recognises(type)) {
        return jax_.get();
    }
    return nullptr;
}

}  // namespace cyclewatch::device
