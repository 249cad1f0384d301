// SPDX-License-Identifier: Apache-2.0
// Finds the memory owners that die with the unreachable set: those in the set, and those outside it
// (in an older generation or not tracked by the collector) that only unreachable objects refer to.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <vector>

#include "collector/unreachable_set.h"
#include "device/owner_registry.h"
#include "python/references.h"
#include "python/type_traversal.h"

namespace cyclewatch::device {

struct DetectedOwner {
    PyObject* object = nullptr;     // borrowed
    OwnerReader* reader = nullptr;  // owned by the registry
};

// The result of one pass over the unreachable set. References are borrowed, except `held`.
struct Detection {
    std::vector<DetectedOwner> owners;  // those in the set first, in the set's order
    // Objects outside the set that die with it: every reference to them comes from the set, from
    // another dependent, or is one of OwnerReader::hidden_references().
    std::vector<PyObject*> dependents;
    // Strong references to objects outside the set, because a faulty tp_traverse may visit an
    // object that is freed as soon as it returns. Releasing them may run Python.
    std::vector<python::OwnedRef> held;
};

class OwnerDetector {
  public:
    // Visits every object and reference of the set once. `detection.dependents` stays empty if no
    // owner is found. May throw std::bad_alloc.
    void detect(const collector::UnreachableSet& unreachable,
                OwnerRegistry& registry,
                Detection& detection);

  private:
    enum class TypeRole : std::uint8_t {
        inert,      // has no references and owns no memory: str, int, float ...
        container,  // may refer to an owner
        owner,
    };

    // Cached for one collection only: between collections a type may be freed and its address
    // reused.
    struct TypeEntry {
        python::TypeTraversal traversal;
        OwnerReader* reader = nullptr;
        std::uint32_t round = 0;
        TypeRole role = TypeRole::inert;
    };

    // An object outside the set and the number of known references to it, including our own.
    struct OutsideEntry {
        PyObject* object = nullptr;
        std::uint32_t references = 0;
        std::uint32_t round = 0;
    };

    const TypeEntry& type_entry(PyTypeObject* type) noexcept;
    [[nodiscard]] TypeEntry classify(PyTypeObject* type) const noexcept;
    OutsideEntry& outside_entry(PyObject* object);
    void grow_outside();
    // Creates a strong reference to the entry's object and appends the object to `list`.
    void hold(OutsideEntry& entry, std::vector<PyObject*>& list);
    void count_reference(OutsideEntry& entry);
    void visit_references(PyObject* object, const TypeEntry& type);
    // A visitproc: the fast path of visit_target().
    static int visit(PyObject* target, void* self) noexcept;
    void visit_target(PyObject* target);
    void add_externally_held_owners(Detection& detection);

    const collector::UnreachableSet* unreachable_ = nullptr;
    OwnerRegistry* registry_ = nullptr;
    Detection* detection_ = nullptr;
    std::uint32_t round_ = 0;  // number of the collection; older table entries are invalid
    std::array<TypeEntry, 512> types_{};
    const TypeEntry* latest_type_ = types_.data();  // consecutive objects often share a type
    std::vector<OutsideEntry> outside_;             // open addressing
    std::size_t outside_count_ = 0;
    // The most recently counted outside object and its entry, because most references out of the
    // set are to classes.
    PyObject* latest_ = nullptr;
    OutsideEntry* latest_entry_ = nullptr;
    std::vector<PyObject*> outside_owners_;
    std::vector<PyObject*> dying_;  // outside objects to which every reference is known
    bool out_of_memory_ = false;    // set because exceptions must not pass through C frames
};

}  // namespace cyclewatch::device
