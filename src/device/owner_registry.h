// SPDX-License-Identifier: Apache-2.0
// Maps types to readers. Detects libraries that the program has imported. Does not import any.
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/owner_reader.h"
#include "device/readers/registered.h"
#include "python/references.h"

namespace cyclewatch::device {

class OwnerRegistry {
  public:
    // Creates readers for libraries imported since the last call. Cheap if there are none. Called
    // in the "start" callback of each collection and outside of collections, never while the
    // collector frees objects. RUNS PYTHON: no user code.
    void refresh() noexcept;
    // The same before live owners are listed and read: also waits until no other thread does
    // anything with a tensor during which the tensor must not be read
    // (wait_for_assigned_gradients). May release the GIL.
    void refresh_for_live_owners();

    // True if there are no readers, so that collections need not be inspected.
    [[nodiscard]] bool empty() const noexcept;

    // True if there are readers, or will be: refresh() has seen a library that the program has
    // begun to import.
    [[nodiscard]] bool expects_owners() const noexcept { return sees_library_ || !empty(); }

    // The reader for `type`, or null. Safe inside a collection: does not create Python objects. A
    // caller may reuse the result in later collections only while version() and the version of the
    // type stay the same. A type may change, or it may be freed and its address reused
    // (device/type_verdicts).
    [[nodiscard]] OwnerReader* reader_for(PyTypeObject* type) noexcept;

    // As reader_for(); null also if reading an owner runs user code.
    [[nodiscard]] OwnerReader* native_reader_for(PyTypeObject* type) noexcept {
        OwnerReader* const reader = reader_for(type);
        return reader == nullptr || reader->runs_user_code() ? nullptr : reader;
    }

    // Registers the Python callable `reader` for `type` and its subclasses, replacing any earlier
    // registration of `type`. Keeps `type` and `reader` alive until the type is unregistered.
    void register_owner(PyTypeObject* type, PyObject* reader) {
        ++version_;
        registered_.add(type, reader);
    }
    // Returns false if `type` is not registered.
    bool unregister_owner(PyTypeObject* type) {
        ++version_;
        return registered_.remove(type);
    }

    // True if some owners have no GC header. Only references from other objects lead to them.
    [[nodiscard]] bool has_untracked_owners() const noexcept {
        return registered_.has_untracked_type();
    }

    // Changes whenever reader_for() may return a different reader for an unchanged type.
    [[nodiscard]] std::uint32_t version() const noexcept { return version_; }

    // Calls OwnerReader::add_graph_targets() of the built-in readers.
    void add_graph_targets(std::span<PyObject* const> objects,
                           std::vector<GraphTarget>& targets,
                           UnreadGraphs& unread);

    // Calls OwnerReader::add_hidden_references() of the built-in readers.
    void add_hidden_references(std::span<PyObject* const> objects,
                               const TorchLayout& layout,
                               collector::HiddenReferences& hidden);

  private:
    std::uint32_t version_ = 0;
    bool sees_library_ = false;
    RegisteredReader registered_;
    std::unique_ptr<OwnerReader> torch_;
    std::unique_ptr<OwnerReader> cuda_arrays_;
    std::unique_ptr<OwnerReader> jax_;
    // Interned, because they are looked up at the start of every collection.
    python::OwnedRef torch_name_ = python::steal(PyUnicode_InternFromString("torch"));
    python::OwnedRef jax_name_ = python::steal(PyUnicode_InternFromString("jaxlib"));
};

// Finds the readers of many objects. Valid as long as no type is changed or freed.
class ReaderSearch {
  public:
    explicit ReaderSearch(OwnerRegistry& registry) noexcept : registry_(registry) {}

    // OwnerRegistry::reader_for() the type of `object`.
    [[nodiscard]] OwnerReader* reader_of(PyObject* object) noexcept {
        PyTypeObject* const type = Py_TYPE(object);
        Known& known = known_[reinterpret_cast<std::uintptr_t>(type) / 64 % known_.size()];
        if (known.type != type) {
            known = {type, registry_.reader_for(type)};
        }
        return known.reader;
    }

  private:
    struct Known {
        PyTypeObject* type = nullptr;
        OwnerReader* reader = nullptr;
    };
    OwnerRegistry& registry_;
    std::array<Known, 256> known_{};
};

}  // namespace cyclewatch::device
