// SPDX-License-Identifier: Apache-2.0
// The owners that existed when this process was forked. If they are unreachable, the parent process
// reports them: the children have copies.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstddef>
#include <unordered_set>

#include "device/owner_registry.h"

namespace cyclewatch::watch {

class InheritedOwners {
  public:
    // Call this in a forked child, before its code runs. Lists the owners that the collector
    // tracks; none if their list cannot be read. May throw std::bad_alloc.
    void list(device::OwnerRegistry& registry);

    // An owner that was created in this process, where an inherited one was, counts as inherited.
    [[nodiscard]] bool contains(PyObject* object) const {
        return !owners_.empty() && owners_.contains(object);
    }
    // The number of objects that the collector tracked.
    [[nodiscard]] std::size_t objects() const noexcept { return objects_; }

  private:
    std::unordered_set<PyObject*> owners_;  // addresses; never dereferenced
    std::size_t objects_ = 0;
};

}  // namespace cyclewatch::watch
