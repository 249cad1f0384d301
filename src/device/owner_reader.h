// SPDX-License-Identifier: Apache-2.0
// The interface of one library's reader: which types own device memory, and what an object of
// such a type owns. Readers run inside a collection, on unreachable objects.
//
// Rules of every reader (docs/design/collector.md says why):
//   REQUIRES: GIL held. RUNS PYTHON: never user code; C getters of the library itself only.
//   Creates no GC object that refers to the object read. Leaves no Python error set.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cyclewatch::device {

// Tells after the collection whether a storage's memory really went. Holds no strong reference.
class WeakStorage {
  public:
    virtual ~WeakStorage() = default;
    // REQUIRES: GIL held, the collection's sweep is over. RUNS PYTHON: never user code.
    [[nodiscard]] virtual bool released() noexcept = 0;
};

struct OwnerReading {
    std::string device;         // "cuda:0", "cpu"
    std::uint64_t bytes = 0;    // of the whole storage, not of the view
    std::uint64_t storage = 0;  // identity of the storage while it lives (its data pointer or
                                // handle): equal for views of one storage on one device
    std::string shape;          // "[2, 3]"; "" if the owner has none
    std::string dtype;          // "float32"; "" if the owner has none
    int left_objects = 0;       // objects that reading made, that the collector counts and that
                                // go with the storage
    std::string part;           // of a part: how its owner holds it (".grad"); "" otherwise
    std::unique_ptr<WeakStorage> weak_storage;  // null: the storage goes when its owners go
    bool goes_with_storage = false;   // nobody else holds the storage: the owner went if it did
    std::vector<OwnerReading> parts;  // further storages that die with the owner and that only
                                      // its library knows of
};

enum class ReadOutcome : std::uint8_t {
    owns,          // `reading` is filled
    owns_nothing,  // a fake, meta, empty or wrapper tensor: not an owner
    failed,        // the reader raised; skipped and counted, logged once per type
};

class OwnerReader {
  public:
    virtual ~OwnerReader() = default;
    // True if objects of `type` may own device memory. By the MRO alone: runs no Python.
    [[nodiscard]] virtual bool recognises(PyTypeObject* type) const noexcept = 0;
    [[nodiscard]] virtual ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept = 0;
    // How many references to `object` its own library holds where the collector cannot see it.
    // An owner whose other references are all dying may die too: its weakref or storage tells
    // afterwards.
    [[nodiscard]] virtual Py_ssize_t hidden_references(PyObject* /*object*/) noexcept { return 0; }
    // True if reading runs the user's own code: then nothing borrowed may be used afterwards.
    [[nodiscard]] virtual bool runs_user_code() const noexcept { return false; }
    // "torch", "cuda-array-interface", "registered": for stats and messages.
    [[nodiscard]] virtual const char* name() const noexcept = 0;
};

}  // namespace cyclewatch::device
