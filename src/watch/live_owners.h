// SPDX-License-Identifier: Apache-2.0
// The reachable owners.
//
// REQUIRES (everything here): GIL held, outside of a collection. RUNS PYTHON: no user code.
#pragma once

#include <Python.h>

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/heap_scan.h"
#include "device/owner_detector.h"
#include "device/owner_reader.h"
#include "device/owner_registry.h"
#include "python/references.h"

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
    // The unreachable object whose graph keeps `object` alive, so that the collection that frees
    // the one frees the other; null if something else may keep `object`.
    [[nodiscard]] PyObject* saved_for(PyObject* object) const {
        const auto found = saved_by_dead_.find(object);
        return found == saved_by_dead_.end() ? nullptr : found->second.source;
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
                         std::span<const device::GraphTarget> targets);
    void find_saved_by_dead(device::OwnerRegistry& registry,
                            std::span<const python::OwnedRef> unreachable);
    void find_dependents(device::OwnerRegistry& registry,
                         std::span<const python::OwnedRef> unreachable);
    void count_bases(device::OwnerRegistry& registry, PyObject* object);
    void keep_saved_by_hidden(device::OwnerRegistry& registry);
    void keep_bases_of_living_views();
    void count_saved(device::OwnerRegistry& registry, PyObject* object, PyObject* source);

    std::vector<python::OwnedRef> held_;
    std::vector<device::DetectedOwner> owners_;
    std::vector<PyObject*> untracked_;
    std::unordered_set<PyObject*> in_graphs_;
    struct Saved {
        PyObject* source = nullptr;
        Py_ssize_t references = 0;  // those of the library that the graphs of dead objects explain
        std::vector<PyObject*> views;  // of this object, which account for some of `references`
    };
    std::unordered_map<PyObject*, Saved> saved_by_dead_;
    // The objects in the graphs of unreachable objects to which, besides these graphs, at most
    // unreachable objects refer.
    std::unordered_set<PyObject*> dependents_;
    // What the graphs of unreachable objects lead to. Empty when find() has returned.
    std::unordered_set<PyObject*> reached_by_dead_;
    std::vector<python::OwnedRef> read_;
    device::UnreadGraphs unread_graphs_;
    bool seem_held_by_c_code_ = false;
};

// Scans the heap, and finds the owners that are reachable. May throw std::bad_alloc.
[[nodiscard]] LiveOwners find_live_owners(device::OwnerRegistry& registry);

}  // namespace cyclewatch::watch
