// SPDX-License-Identifier: Apache-2.0
// Finds the owners that have no GC header, such as NumPy arrays.
#pragma once

#include <Python.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "collector/heap_scan.h"
#include "compat/frame_access.h"
#include "device/owner_detector.h"
#include "device/owner_registry.h"
#include "python/references.h"
#include "python/type_traversal.h"

namespace cyclewatch::watch {

// Finds the owners that have no GC header. The collector does not list them, so the references of
// all other objects are followed.
class UntrackedOwners {
  public:
    explicit UntrackedOwners(device::OwnerRegistry& registry) : registry_(registry) {}

    // `tracked`: the tracked objects. Does not follow the references of the unreachable objects in
    // `dead`. May throw std::bad_alloc. REQUIRES: the other threads stopped. RUNS PYTHON: never.
    void find(std::span<PyObject* const> tracked, const collector::HeapScan& dead);

    // Appends the owners to `owners`, the owners and the containers that lead to them to
    // `untracked`, and a reference to each of these objects to `held`.
    void move_to(std::vector<python::OwnedRef>& held,
                 std::vector<device::DetectedOwner>& owners,
                 std::vector<PyObject*>& untracked);

  private:
    static int visit(PyObject* object, void* context) noexcept;
    static void visit_thread(const cyclewatch_thread_reference* reference, void* context);

    // Records whether an untracked object is an owner, or a container that leads to owners.
    void consider(PyObject* object) noexcept;

    device::OwnerRegistry& registry_;
    python::TypeTraversals traversals_;
    std::unordered_map<PyObject*, bool> known_;  // whether it is an owner or leads to one
    bool leads_ = false;                         // the container that is visited leads to an owner
    int nesting_ = 0;
    bool out_of_memory_ = false;
};

}  // namespace cyclewatch::watch
