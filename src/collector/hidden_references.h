// SPDX-License-Identifier: Apache-2.0
// References that a library stores in its C++ objects, where tp_traverse does not visit them. With
// these references, a scan finds cycles that no collection can free.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/edge_label.h"
#include "python/references.h"

namespace cyclewatch::collector {

// One reference from a C++ object. Both Python objects are borrowed.
struct HiddenReference {
    PyObject* holder = nullptr;
    PyObject* target = nullptr;
    model::EdgeKind kind = model::EdgeKind::member;
    std::string name;
    std::uint32_t index = 0;
    // tp_traverse of the holder visits this reference, so that only its label is new.
    bool is_visited = false;
    // tp_traverse visits this reference once no other C++ object refers to the holder or target.
    bool is_visited_unless_shared = false;
    // Refers to the C++ object of the target, and not to its Python object.
    bool is_to_cpp_object = true;
};

// A Python object and the C++ object that it wraps count as one object. `references` must be
// complete or omit something: a reference that does not exist could make a living object count as
// unreachable, while a missing one only keeps its target alive.
struct HiddenReferences {
    std::vector<HiddenReference> references;  // sorted by holder, see sort()
    // The number to add to the reference count of the Python object, so that the sum is the number
    // of references to either object from outside the pair.
    std::vector<std::pair<PyObject*, Py_ssize_t>> counts;
    // Objects without a GC header that take part in the search.
    std::vector<PyObject*> untracked;
    // One reference to each object above, so that the borrowed references stay valid. The search
    // subtracts these references.
    std::vector<python::OwnedRef> held;
    // The counts and references of all tensors are included, so that they determine whether a
    // tensor's memory is freed with the unreachable objects.
    bool explains_tensors = false;
    // add_array_references() has been called.
    bool has_arrays = false;
    // The references of torch are missing, because another thread runs a backward pass.
    bool omits_running_graph = false;
    // There are more tensors and autograd nodes than were examined; the others count as alive.
    bool omits_nodes = false;

    [[nodiscard]] bool empty() const noexcept { return references.empty() && counts.empty(); }
    void sort() {
        std::stable_sort(references.begin(), references.end(), [](const auto& a, const auto& b) {
            return a.holder < b.holder;
        });
    }
    [[nodiscard]] std::span<const HiddenReference> of(const PyObject* holder) const {
        const auto begin = std::partition_point(
            references.begin(), references.end(), [&](const HiddenReference& each) {
                return each.holder < holder;
            });
        const auto end =
            std::partition_point(begin, references.end(), [&](const HiddenReference& each) {
                return each.holder <= holder;
            });
        return {begin, end};
    }
    // Calls change(object, number) for each number to add to an object's reference count, including
    // the references in `held`. An object may occur several times.
    template <typename Change>
    void for_each_count(const Change& change) const {
        for (const auto& [object, count] : counts) {
            change(object, count);
        }
        for (const python::OwnedRef& each : held) {
            change(each.get(), Py_ssize_t{-1});
        }
    }
};

}  // namespace cyclewatch::collector
