// SPDX-License-Identifier: Apache-2.0
// The reachable owners.
//
// REQUIRES (everything here): GIL held, outside of a collection. RUNS PYTHON: no user code.
#pragma once

#include <Python.h>

#include <span>
#include <unordered_set>
#include <vector>

#include "collector/heap_scan.h"
#include "device/owner_detector.h"
#include "device/owner_reader.h"
#include "device/owner_registry.h"
#include "python/references.h"
#include "watch/dead_graphs.h"

namespace cyclewatch::watch {

// Holds strong references to the owners, because reading an owner may run user code.
class LiveOwners {
  public:
    // Adds all owners except those that `dead`, a scan of all objects, found unreachable. Reads the
    // autograd graphs of these owners and of nodes that Python code holds, and adds the tensors
    // that only the graphs refer to: torch creates Python objects for them, which no list of
    // objects contains before. Also reads the graphs of unreachable objects (saved_for()). Frees
    // the memory that the scan kept for the next one. May throw std::bad_alloc.
    void find(device::OwnerRegistry& registry, const collector::HeapScan& dead);

    // Like find() after a scan with hidden references, whose result is `dead`, but leaves out the
    // owners to which modules and running functions lead: only C code, whose references cannot be
    // examined, keeps the others alive. REQUIRES: no Python code has run since that scan.
    void find_held_by_c_code(device::OwnerRegistry& registry, const collector::HeapScan& dead);

    // True if find_held_by_c_code() left out the other owners.
    [[nodiscard]] bool seem_held_by_c_code() const { return seem_held_by_c_code_; }

    [[nodiscard]] const std::vector<device::DetectedOwner>& owners() const { return owners_; }
    // True if an autograd graph that find() has read leads to `object`.
    [[nodiscard]] bool is_in_graph(PyObject* object) const { return in_graphs_.contains(object); }
    // True if find() has read an autograd graph of a reachable object.
    [[nodiscard]] bool found_graphs() const { return !in_graphs_.empty(); }
    // See DeadGraphs.
    [[nodiscard]] PyObject* saved_for(PyObject* object) const {
        return dead_graphs_.saved_for(object);
    }
    // The objects for which saved_for() is not null, and to which no Python code refers, except
    // those in `dead`.
    [[nodiscard]] std::vector<PyObject*> saved_by_dead(
        const std::unordered_set<const PyObject*>& dead) const;
    // The autograd graphs that find() has not read. Their holders are valid while this object is.
    [[nodiscard]] const device::UnreadGraphs& unread_graphs() const { return unread_graphs_; }
    // The owners without a GC header, and the untracked containers that lead to them.
    [[nodiscard]] std::span<PyObject* const> untracked() const { return untracked_; }
    // Borrowed. An owner is listed once per reference that a census holds: twice if user code
    // reads the owner, because OwnerReadings then holds a second reference.
    [[nodiscard]] std::vector<PyObject*> objects() const;

  private:
    void add(PyObject* object, device::OwnerReader* reader);
    void add_from_graphs(device::OwnerRegistry& registry,
                         std::span<const device::GraphTarget> targets,
                         std::span<const python::OwnedRef> dead_targets);

    std::vector<python::OwnedRef> held_;
    std::vector<device::DetectedOwner> owners_;
    std::vector<PyObject*> untracked_;
    std::unordered_set<PyObject*> in_graphs_;
    DeadGraphs dead_graphs_;
    device::UnreadGraphs unread_graphs_;
    bool seem_held_by_c_code_ = false;
};

// Scans the heap, and finds the owners that are reachable. May throw std::bad_alloc.
[[nodiscard]] LiveOwners find_live_owners(device::OwnerRegistry& registry);

}  // namespace cyclewatch::watch
