// SPDX-License-Identifier: Apache-2.0
// From the unreachable set to the owners that die with it: those inside the set, and those outside
// (older, untracked or not known to the collector) that only the garbage holds.
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
    OwnerReader* reader = nullptr;  // of the registry
};

// What one pass over the unreachable set found; borrowed references, but for `held`.
struct Detection {
    std::vector<DetectedOwner> owners;  // inside the set first, in the set's order
    std::vector<PyObject*> dependents;  // outside objects whose every reference comes from the
                                        // set or from other dependents: they die with it; and
                                        // owners that may, see OwnerReader::hidden_references()
    // The outside objects above, and others. A tp_traverse that lies shows what goes once it
    // returns, or when it is called again. Letting go of one may run Python then.
    std::vector<python::OwnedRef> held;
};

class OwnerDetector {
  public:
    // One pass: every object and every reference of the set is looked at once, by type.
    // `detection.dependents` stays empty where no owner was found. May throw std::bad_alloc.
    void detect(const collector::UnreachableSet& unreachable,
                const OwnerRegistry& registry,
                Detection& detection);

  private:
    enum class TypeRole : std::uint8_t {
        inert,      // refers to nothing and owns nothing: str, int, float ...
        container,  // may lead to an owner
        owner,
    };

    // What is known of one type, for the length of one collection: types may die between two.
    struct TypeEntry {
        python::TypeTraversal traversal;
        OwnerReader* reader = nullptr;
        std::uint32_t round = 0;
        TypeRole role = TypeRole::inert;
    };

    // How many references from the dying objects, and ours, reach one object outside the set.
    struct OutsideEntry {
        PyObject* object = nullptr;
        std::uint32_t references = 0;
        std::uint32_t round = 0;
    };

    const TypeEntry& type_entry(PyTypeObject* type) noexcept;
    [[nodiscard]] TypeEntry classify(PyTypeObject* type) const noexcept;
    OutsideEntry& outside_entry(PyObject* object);
    void grow_outside();
    void look_at(PyObject* target);
    // Puts an object outside the set on one of the lists below.
    void keep(OutsideEntry& entry, std::vector<PyObject*>& list);
    void count_reference(OutsideEntry& entry);
    void visit_references(PyObject* object, const TypeEntry& type);
    static int visit(PyObject* target, void* self) noexcept;
    int look_closer_at(PyObject* target) noexcept;
    void add_externally_held_owners(Detection& detection);

    const collector::UnreachableSet* unreachable_ = nullptr;
    const OwnerRegistry* registry_ = nullptr;
    Detection* detection_ = nullptr;  // to be filled
    std::uint32_t round_ = 0;
    std::array<TypeEntry, 512> types_{};
    const TypeEntry* latest_type_ = types_.data();  // neighbours are often of one type
    std::vector<OutsideEntry> outside_;
    std::size_t outside_count_ = 0;
    PyObject* latest_ = nullptr;             // the outside object counted last, and its entry: most
    OutsideEntry* latest_entry_ = nullptr;   // references out of the set go to one class
    std::vector<PyObject*> outside_owners_;  // owners among the outside objects
    std::vector<PyObject*> dying_;  // outside objects whose references are all accounted for
    bool out_of_memory_ = false;    // set where an exception could not pass through C frames
};

}  // namespace cyclewatch::device
