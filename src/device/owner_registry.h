// SPDX-License-Identifier: Apache-2.0
// Type -> reader. Finds libraries that are already imported; imports nothing itself.
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "device/owner_reader.h"

namespace cyclewatch::device {

class OwnerRegistry {
  public:
    OwnerRegistry();
    ~OwnerRegistry();
    OwnerRegistry(const OwnerRegistry&) = delete;
    OwnerRegistry& operator=(const OwnerRegistry&) = delete;

    // Looks for libraries imported since the last call (sys.modules, by exact name) and makes
    // their readers. Cheap when nothing changed. Called at a collection's "start", never inside
    // the sweep. RUNS PYTHON: never user code.
    void refresh() noexcept;

    // True while no reader exists: then a collection needs no look at its objects at all.
    [[nodiscard]] bool empty() const noexcept;

    // The reader for `type`, or null. Safe inside a collection: allocates nothing in Python.
    // Not cached across collections (a type may die and its address be reused).
    [[nodiscard]] OwnerReader* reader_for(PyTypeObject* type) const noexcept;

    // register_owner(type, reader): `reader` is a Python callable. Later entries win; a subclass
    // of `type` is recognised too. Both are kept alive until unregistered.
    void register_owner(PyTypeObject* type, PyObject* reader);
    // False if `type` was not registered.
    bool unregister_owner(PyTypeObject* type);

    // Messages of readers that failed since the last call, one per type and reader.
    [[nodiscard]] std::vector<std::string> take_failures();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cyclewatch::device
