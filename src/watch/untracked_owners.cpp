// SPDX-License-Identifier: Apache-2.0
#include "watch/untracked_owners.h"

#include <Python.h>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace cyclewatch::watch {
namespace {

constexpr int kMostNesting = 32;  // of untracked containers

}  // namespace

void UntrackedOwners::find(std::span<PyObject* const> tracked, const collector::HeapScan& dead) {
    for (PyObject* const object : tracked) {
        if (!dead.collectable.contains(object) && !dead.frozen.contains(object)) {
            traversals_.of(Py_TYPE(object)).visit<&visit>(object, this);
        }
    }
    cyclewatch_visit_threads(&visit_thread, this);
    if (out_of_memory_) {
        throw std::bad_alloc();
    }
}

void UntrackedOwners::move_to(std::vector<python::OwnedRef>& held,
                              std::vector<device::DetectedOwner>& owners,
                              std::vector<PyObject*>& untracked) {
    for (const auto& [object, leads] : known_) {
        if (!leads) {
            continue;
        }
        held.push_back(python::borrow(object));
        untracked.push_back(object);
        if (PyType_IS_GC(Py_TYPE(object)) == 0) {
            owners.push_back({object, registry_.reader_for(Py_TYPE(object))});
        }
    }
}

int UntrackedOwners::visit(PyObject* object, void* context) noexcept {
    static_cast<UntrackedOwners*>(context)->consider(object);
    return 0;
}

void UntrackedOwners::visit_thread(const cyclewatch_thread_reference* reference, void* context) {
    if (reference->is_stale == 0) {
        static_cast<UntrackedOwners*>(context)->consider(reference->target);
    }
}

void UntrackedOwners::consider(PyObject* object) noexcept {
    if (object == nullptr) {
        return;
    }
    PyTypeObject* const type = Py_TYPE(object);
    const bool is_container = PyType_IS_GC(type) != 0;
    if (is_container ? PyObject_IS_GC(object) == 0 || PyObject_GC_IsTracked(object) != 0
                     : registry_.reader_for(type) == nullptr) {
        return;
    }
    try {
        const auto [known, is_new] = known_.try_emplace(object, !is_container);
        if (is_new && is_container && nesting_ < kMostNesting) {
            const bool outer = std::exchange(leads_, false);
            ++nesting_;
            // Not from `traversals_`, whose entry for the holder is in use.
            python::TypeTraversal(type).visit<&visit>(object, this);
            --nesting_;
            known_.at(object) = leads_;
            leads_ = outer || leads_;
            return;
        }
        leads_ = leads_ || known->second;
    } catch (const std::bad_alloc&) {
        out_of_memory_ = true;
    }
}

}  // namespace cyclewatch::watch
