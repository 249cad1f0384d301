// SPDX-License-Identifier: Apache-2.0
// What only the autograd graphs of unreachable objects keep alive.
//
// REQUIRES (everything here): GIL held, outside of a collection, automatic collection paused. RUNS
// PYTHON: no user code.
#pragma once

#include <Python.h>

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/owner_detector.h"
#include "device/owner_reader.h"
#include "device/owner_registry.h"
#include "python/references.h"

namespace cyclewatch::watch {

class DeadGraphs {
  public:
    // Reads the graphs of `unreachable`, except what C++ code outside of these graphs holds, such
    // as a module of torch.jit. Adds to `unread` the graphs that were left out. May release the
    // GIL. May throw std::bad_alloc.
    void read(device::OwnerRegistry& registry,
              std::span<const python::OwnedRef> unreachable,
              device::UnreadGraphs& unread);

    // Finds the objects in these graphs to which only the graphs, unreachable objects and `ours`
    // refer. `ours`: all other references that the caller has taken. May throw std::bad_alloc.
    void find_dependents(device::OwnerRegistry& registry,
                         std::span<const python::OwnedRef> unreachable,
                         std::span<const python::OwnedRef> ours);

    // True for what find_dependents() has found. The library's own reference to such an object
    // makes it, and the graphs that it leads to, seem reachable.
    [[nodiscard]] bool is_dependent(PyObject* object) const { return dependents_.contains(object); }

    // Leaves out what reachable objects keep alive, and returns the rest. `owners`: the reachable
    // owners. `targets`: what the graphs of reachable objects keep alive. Adds to `unread`, as
    // above; if that contains a graph, which may lead to the same objects, nothing is left. Frees
    // what only these functions need. May throw std::bad_alloc.
    [[nodiscard]] std::vector<python::OwnedRef> keep_unreachable(
        device::OwnerRegistry& registry,
        std::span<const device::DetectedOwner> owners,
        std::span<const device::GraphTarget> targets,
        device::UnreadGraphs& unread);

    // The unreachable object whose graph keeps `object` alive, so that the collection that frees
    // the one frees the other; null if something else may keep `object`.
    [[nodiscard]] PyObject* saved_for(PyObject* object) const {
        const auto found = saved_.find(object);
        return found == saved_.end() ? nullptr : found->second.source;
    }
    // The objects for which saved_for() is not null. Borrowed.
    [[nodiscard]] std::vector<PyObject*> saved() const;

  private:
    void count_bases(device::OwnerRegistry& registry, PyObject* object);
    void count_saved(device::OwnerRegistry& registry, PyObject* object, PyObject* source);
    void keep_saved_by_hidden(device::OwnerRegistry& registry,
                              std::span<const device::DetectedOwner> owners,
                              device::UnreadGraphs& unread);
    void keep_bases_of_living_views();

    struct Saved {
        PyObject* source = nullptr;
        Py_ssize_t references = 0;     // those of the library that the graphs account for
        std::vector<PyObject*> views;  // of this object, which account for some of `references`
    };
    std::unordered_map<PyObject*, Saved> saved_;
    std::unordered_set<PyObject*> dependents_;
    std::unordered_set<PyObject*> reached_;  // what the graphs lead to
    std::vector<python::OwnedRef> sources_;  // holds the values of `source`
    std::vector<python::OwnedRef> read_;     // holds what has been read
};

}  // namespace cyclewatch::watch
