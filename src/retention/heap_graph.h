// SPDX-License-Identifier: Apache-2.0
// The references between all tracked objects, indexed by target.
//
// REQUIRES (everything here): GIL held, the other threads stopped. RUNS PYTHON: never. Creates no
// Python objects. Results are valid until Python code runs.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/hidden_references.h"
#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "compat/gc_list.h"
#include "device/owner_reader.h"
#include "retention/library_references.h"

namespace cyclewatch::retention {

// The holders of each object. About as expensive as gc.collect(). Uses 24 to 32 bytes per object
// and 4 bytes per reference.
class HeapGraph {
  public:
    static constexpr std::uint32_t kAbsent = collector::ReferenceWalk::kAbsent;

    // `objects`: all tracked objects, including frozen ones. The list must outlive the graph, which
    // may add objects to it. `target`: included even if the collector does not track it; may be
    // null. `ignored`: an object whose references are omitted; may be null. `untracked`: objects
    // whose untracked holders are included: those that refer to the object through a C field, such
    // as memory mappings, and containers that the collector has stopped tracking. `library`:
    // additional references, which only the owner's library can list (library_references.h).
    // Includes the references from NumPy arrays (collector/object_arrays.h). `hidden`: those of
    // other C++ objects, with the counts that make them exact; they replace library references.
    // Throws std::bad_alloc if out of memory.
    HeapGraph(collector::TrackedObjects& objects,
              PyObject* target,
              PyObject* ignored,
              std::span<PyObject* const> untracked = {},
              std::span<const OwnerReference> library = {},
              collector::HiddenReferences hidden = {});
    HeapGraph(const HeapGraph&) = delete;
    HeapGraph& operator=(const HeapGraph&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return objects_.objects().size(); }
    [[nodiscard]] PyObject* object(std::uint32_t node) const noexcept {
        return objects_.objects()[node];
    }
    // The node of `object`; kAbsent if the graph does not contain the object. An object can be
    // missing because it is untracked or because the running collection is about to free it.
    [[nodiscard]] std::uint32_t node_of(PyObject* object) const noexcept;
    // Frees the index (8 to 16 bytes per object). Afterwards, node_of() finds only `objects`.
    void drop_index(std::span<PyObject* const> objects);
    // The nodes that refer to `node`. A node with several references to `node` occurs several
    // times.
    [[nodiscard]] std::span<const std::uint32_t> holders(std::uint32_t node) const noexcept {
        return std::span(holders_).subspan(first_[node], first_[node + 1] - first_[node]);
    }
    // The reference count of the object minus the references to it from objects in the graph; zero
    // or negative if the graph accounts for all references. Library references are not subtracted,
    // because they own the C++ object instead of the Python object. However, if all library
    // references to an object are known, one reference is subtracted for all of them together.
    // Zero if the interpreter does not count all references to the object.
    [[nodiscard]] Py_ssize_t unexplained(std::uint32_t node) const noexcept {
        if (cw_is_fully_counted(object(node)) == 0) {
            return 0;
        }
        const auto found = uncounted_.find(node);
        const Py_ssize_t uncounted = found == uncounted_.end() ? 0 : found->second;
        return Py_REFCNT(object(node)) - static_cast<Py_ssize_t>(holders(node).size()) + uncounted;
    }
    // True if the graph contains more references to the object than the counts of the object and of
    // its C++ object allow, so that it is unknown whether something else refers to the object.
    [[nodiscard]] bool is_miscounted(std::uint32_t node) const noexcept {
        return !hidden_.counts.empty() && unexplained(node) < 0;
    }
    // The reference from a NumPy array to its base or to an element, or from a C++ object; null if
    // there is none.
    [[nodiscard]] const collector::HiddenReference* hidden_reference(
        std::uint32_t holder, std::uint32_t target) const noexcept;
    // The references from NumPy arrays and C++ objects, by holder.
    [[nodiscard]] const collector::HiddenReferences& hidden() const noexcept { return hidden_; }
    // The library reference from `holder` to `target`; null if there is none.
    [[nodiscard]] const device::LibraryReference* library_reference(
        std::uint32_t holder, std::uint32_t target) const noexcept;

  private:
    void add_arrays();
    void add_untracked(PyObject* object);
    void add_untracked_holders(std::span<PyObject* const> targets);
    void count_references();
    void store_holders();

    struct UntrackedHolders;
    std::vector<std::pair<PyObject*, PyObject*>> untracked_;  // pairs of holder and target
    std::unordered_set<PyObject*> untracked_objects_;         // in the list, during construction
    collector::HiddenReferences hidden_;

    struct LibraryEdge {
        std::uint32_t holder;
        std::uint32_t target;
        device::LibraryReference reference;
        [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> ends() const noexcept {
            return {holder, target};
        }
    };
    std::vector<LibraryEdge> library_;  // sorted by their ends
    // By target: what to add to its reference count, because the graph contains references that the
    // count does not include.
    std::unordered_map<std::uint32_t, Py_ssize_t> uncounted_;
    void add_hidden();
    void add_library(std::span<const OwnerReference> references);

    static int count(PyObject* target, void* context) noexcept;
    static int store(PyObject* target, void* context) noexcept;

    collector::TrackedObjects& objects_;
    // Constructed after all objects have been added.
    std::optional<collector::ReferenceWalk> walk_;             // until drop_index()
    std::unordered_map<PyObject*, std::uint32_t> kept_nodes_;  // afterwards
    std::uint32_t ignored_ = kAbsent;
    std::uint32_t holder_ = 0;          // the object that is traversed
    std::vector<std::uint32_t> first_;  // size() + 1 positions in holders_
    std::vector<std::uint32_t> holders_;
};

// Calls `work(objects)` with all tracked objects, while no other thread can change them. On
// free-threaded builds, stops the other threads, and calls `work` again if they created objects
// before they stopped. Only the result of the last call is valid. Propagates exceptions of `work`.
// Throws std::bad_alloc if the objects cannot be listed, and std::runtime_error if other threads
// created objects during every attempt. REQUIRES: GIL held. `work` must not run Python code.
template <typename Work>
void with_heap(Work&& work) {
    constexpr int kAttempts = CYCLEWATCH_HAS_NO_GIL ? 20 : 1;
    for (int i = 0; i < kAttempts; ++i) {
        collector::TrackedObjects objects;
        if (objects.fill_and({.generation = 2, .frozen = true}, [&] { work(objects); })) {
            return;
        }
    }
    if (!CYCLEWATCH_HAS_NO_GIL) {
        throw std::bad_alloc();
    }
    throw std::runtime_error(
        "other threads created objects during every attempt to list all objects");
}

// The offset of the field of `holder` that refers to `target`; 0 if there is none.
[[nodiscard]] Py_ssize_t field_with(PyObject* holder, const PyObject* target) noexcept;

}  // namespace cyclewatch::retention
