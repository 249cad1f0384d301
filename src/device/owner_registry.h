// SPDX-License-Identifier: Apache-2.0
// Maps types to readers. Detects libraries that the program has imported. Does not import any.
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/owner_reader.h"
#include "device/readers/registered.h"
#include "python/references.h"

namespace cyclewatch::device {

class OwnerRegistry {
  public:
    // Creates readers for libraries imported since the last call. Cheap if there are none. Called
    // at "start" of each collection, never during the sweep. RUNS PYTHON: no user code.
    void refresh() noexcept;

    // True if there are no readers, so that collections need not be inspected.
    [[nodiscard]] bool empty() const noexcept;

    // The reader for `type`, or null. Safe inside a collection: does not create Python objects.
    // Cached across collections for the same version() and the same version of the type only,
    // because a type may change, or be freed and its address reused (device/type_verdicts).
    [[nodiscard]] OwnerReader* reader_for(PyTypeObject* type) noexcept;

    // Registers the Python callable `reader` for `type` and its subclasses, and replaces an earlier
    // registration. Keeps both alive until the type is unregistered.
    void register_owner(PyTypeObject* type, PyObject* reader) {
        ++version_;
        registered_.add(type, reader);
    }
    // Returns false if `type` is not registered.
    bool unregister_owner(PyTypeObject* type) {
        ++version_;
        return registered_.remove(type);
    }

    // Changes whenever reader_for() may return something else for an unchanged type.
    [[nodiscard]] std::uint32_t version() const noexcept { return version_; }

    // Messages about readers with invalid results since the last call, one per registration.
    [[nodiscard]] std::vector<std::string> take_failures() { return registered_.take_failures(); }

  private:
    std::uint32_t version_ = 0;
    RegisteredReader registered_;
    std::unique_ptr<OwnerReader> torch_;
    std::unique_ptr<OwnerReader> cuda_arrays_;
    // Interned, because it is looked up at the start of every collection.
    python::OwnedRef torch_name_ = python::steal(PyUnicode_InternFromString("torch"));
};

}  // namespace cyclewatch::device
