// SPDX-License-Identifier: Apache-2.0
// The owners that existed when this process was forked. If they are unreachable, the parent process
// reports them: the children have copies.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "device/owner_reader.h"
#include "device/owner_registry.h"

namespace cyclewatch::watch {

class InheritedOwners {
  public:
    // Call this in a forked child, before its code runs. Lists the owners that the collector
    // tracks, and holds weak references to their storages; lists none if the collector's lists
    // cannot be read. May throw std::bad_alloc.
    void list(device::OwnerRegistry& registry);

    // False for an owner that was created in this process, where an inherited one was that has been
    // freed together with its storage.
    [[nodiscard]] bool contains(PyObject* object) const;
    // The number of objects that the collector tracked.
    [[nodiscard]] std::size_t objects() const noexcept { return objects_; }

  private:
    // By address, which is never dereferenced. Null: unknown, as a reader that is Python code is
    // not called, or the storage is freed with its owner.
    std::unordered_map<PyObject*, std::unique_ptr<device::WeakStorage>> owners_;
    std::size_t objects_ = 0;
};

}  // namespace cyclewatch::watch
