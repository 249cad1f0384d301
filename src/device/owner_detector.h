// SPDX-License-Identifier: Apache-2.0
// Finds the memory owners that die with the unreachable set. These are the owners in the set, and
// owners outside the set (in an older generation or not tracked by the collector) to which only
// unreachable objects refer.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "collector/unreachable_set.h"
#include "device/owner_registry.h"
#include "device/type_verdicts.h"
#include "python/references.h"

namespace cyclewatch::device {

struct DetectedOwner {
    PyObject* object = nullptr;     // borrowed
    OwnerReader* reader = nullptr;  // owned by the registry
};

// The result of one pass over the unreachable set. References are borrowed, except `held`.
struct Detection {
    std::vector<DetectedOwner> owners;  // those in the set first, in the set's order
    // Objects outside the set that die with it. Every reference to such an object comes from the
    // set or from another dependent, or is counted by OwnerReader::hidden_references().
    std::vector<PyObject*> dependents;
    // Strong references to objects outside the set. They are needed because a faulty tp_traverse
    // may visit an object that would otherwise be freed as soon as tp_traverse returns. Releasing
    // them may run Python.
    std::vector<python::OwnedRef> held;
};

class OwnerDetector {
  public:
    // Visits each object in the set, and each of the object's references, once.
    // `detection.dependents` stays empty if no owner is found. May throw std::bad_alloc.
    void detect(const collector::UnreachableSet& unreachable,
                OwnerRegistry& registry,
                Detection& detection);

  private:
    // An object outside the set.
    struct OutsideEntry {
        PyObject* object = nullptr;  // null: unused
        // Number of references to `object` that the search has not found yet. Negative if a faulty
        // tp_traverse visits a reference twice.
        std::int32_t unknown = 0;
        std::uint32_t next = kNoEntry;  // slot of the previously added entry
    };
    static constexpr std::uint32_t kNoEntry = UINT32_MAX;

    // The first slot to search for `object`. The hash is used as a byte offset, because an entry is
    // 16 bytes long and objects are at least 16 bytes apart.
    [[nodiscard]] OutsideEntry& first_slot(PyObject* object) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(object);
        return *reinterpret_cast<OutsideEntry*>(reinterpret_cast<char*>(outside_.data()) +
                                                ((address ^ (address >> 9)) & outside_mask_));
    }
    // The entry of `object`, or the unused entry in which to store it.
    [[nodiscard]] OutsideEntry& find_outside(PyObject* object) noexcept;
    void add_outside(OutsideEntry& unused, PyObject* object, std::int32_t unknown) noexcept;
    // Creates the entry if there is none.
    OutsideEntry& outside_entry(PyObject* object);
    void clear_outside() noexcept;
    void grow_outside();
    // Creates a strong reference to `object` and appends it to `list`.
    void hold(PyObject* object, std::vector<PyObject*>& list);

    // Visits the references of all `objects`, then the references of all objects in dying_.
    template <bool kHasFlags>
    void visit_all(std::span<PyObject* const> objects);
    template <bool kHasFlags, bool kPrefetch>
    void visit_range(std::span<PyObject* const> objects);
    template <bool kHasFlags>
    void visit_references(PyObject* object);
    const TypeVerdict& recognise(PyObject* object);
    // The entry for `type` in inert_types_.
    PyTypeObject*& inert_type(PyTypeObject* type) noexcept {
        return inert_types_[(reinterpret_cast<std::uintptr_t>(type) >> 5) % inert_types_.size()];
    }
    // Called for each reference of a dying object. The target may be null. Returns false if out of
    // memory.
    template <bool kHasFlags>
    bool visit(PyObject* target) noexcept;
    // visit() without its shortcuts.
    bool visit_any(PyObject* target) noexcept;
    // Called once all references to `object`, which is outside the set, have been found. No live
    // object can then refer to `object`. Returns false if out of memory.
    bool add_dying(PyObject* object) noexcept;
    // A visitproc that sets out_of_memory_ if visit() fails.
    template <bool kHasFlags>
    static int visit_from_traverse(PyObject* target, void* self) noexcept;
    void visit_target(PyObject* target);
    void add_externally_held_owners(Detection& detection);

    const collector::UnreachableSet* unreachable_ = nullptr;
    Detection* detection_ = nullptr;
    bool out_of_memory_ = false;  // exceptions must not pass through C frames
    TypeVerdicts types_;
    std::array<PyTypeObject*, 256> inert_types_{};  // seen in this collection
    std::vector<OutsideEntry> outside_;             // open addressing
    std::uintptr_t outside_mask_ = 0;               // mask for the byte offset of an entry
    std::uint32_t outside_count_ = 0;
    std::uint32_t last_outside_ = kNoEntry;  // slot of the entry that was added last
    std::vector<PyObject*> outside_owners_;
    std::vector<PyObject*> dying_;  // outside objects to which every reference is known
};

}  // namespace cyclewatch::device
