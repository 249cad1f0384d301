// SPDX-License-Identifier: Apache-2.0
// Why an object is alive.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/owner_registry.h"
#include "device/torch_layout.h"
#include "model/retention.h"
#include "retention/heap_graph.h"
#include "retention/library_references.h"
#include "retention/path_search.h"
#include "retention/path_text.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

struct WhyAlive {
    std::vector<model::RetentionPath> paths;
    // There is no path, but other objects refer to the object, so a collection will free it.
    bool in_cycle = false;
    // Instead, no collection will free it, because the cycle leads through NumPy arrays or, if the
    // references of torch's C++ objects are known, through these.
    bool is_never_freed = false;
    // The answer depends on references of C++ objects, but not all of them are known.
    bool is_incomplete = false;
};

// `box`: a list whose only item is the object. The caller must not own other references to the
// object, except through variables of this package's Python code. About as expensive as
// gc.collect(), regardless of the number of paths. An object that the running collection is about
// to free has no paths. Throws the exceptions of with_heap(). REQUIRES: GIL held,
// collector::find_generations(), python::check_layouts(). RUNS PYTHON: no user code; a library may
// create the Python objects of gradients and views. With `layout`, which is not supported on
// free-threaded builds, also follows the references of torch's C++ objects; torch then creates the
// Python objects of all autograd nodes.
[[nodiscard]] WhyAlive why_alive(PyObject* box,
                                 std::size_t paths,
                                 CallerVariables caller,
                                 device::OwnerRegistry& registry,
                                 const device::TorchLayout* layout = nullptr);

// Finds paths to many objects in one walk over the heap. Throws std::bad_alloc. REQUIRES: as for
// why_alive(); called from the `work` function of with_heap(). Results are valid until Python code
// runs.
class HolderSearch {
  public:
    // `owned`: the objects to which the caller owns references, listed once per reference; paths()
    // and collections() accept only these. `ignored`: objects that no path may contain. `fixtures`:
    // additional roots. `untracked`: see HeapGraph.
    HolderSearch(collector::TrackedObjects& objects,
                 std::span<PyObject* const> owned,
                 std::span<const OwnerReference> library,
                 std::span<PyObject* const> ignored,
                 std::span<const Fixture> fixtures,
                 std::span<PyObject* const> untracked,
                 Keys keys);
    // Empty if the object is not tracked or not in `owned`, or if there is no path.
    // `is_small_view`: the object is a view of memory that is much larger.
    [[nodiscard]] std::vector<model::RetentionPath> paths(PyObject* object,
                                                          std::size_t count,
                                                          bool is_small_view = false);
    // Like paths(), but prefers paths that do not begin at a variable that its function assigns
    // again without reading it. Such a variable does not carry the object to the next step of a
    // loop.
    [[nodiscard]] std::vector<model::RetentionPath> carrier_paths(PyObject* object,
                                                                  std::size_t count);

    // The graph nodes of the lists, sets, deques and large dicts that refer to the object, and of
    // the owners of autograd graphs that do, sorted. Empty if anything else refers to the object.
    // Objects with equal results have the same holders.
    [[nodiscard]] std::vector<std::uint32_t> collections(PyObject* object);
    // The first object in `collection` that is also in `objects`; null if there is none.
    // `collection` must be one of the values that collections() returned for each of `objects`.
    [[nodiscard]] PyObject* first_in(std::uint32_t collection,
                                     const std::unordered_set<PyObject*>& objects) const;

  private:
    [[nodiscard]] bool is_collection(std::uint32_t node) const;
    // True if the autograd graph of `holder` leads to `node`.
    [[nodiscard]] bool is_of_graph(std::uint32_t holder, std::uint32_t node) const;
    [[nodiscard]] const std::unordered_set<std::uint32_t>& unread_variables();
    [[nodiscard]] std::vector<model::RetentionPath> paths_avoiding(
        PyObject* object,
        std::size_t count,
        const std::unordered_set<std::uint32_t>& roots,
        bool is_small_view);

    HeapGraph graph_;
    Roots roots_;
    PathFinder finder_;
    Labels labels_;
    std::optional<std::unordered_set<std::uint32_t>> unread_;  // unread_variables()
    std::unordered_map<std::uint32_t, bool> collections_;      // the results of is_collection()
};

}  // namespace cyclewatch::retention
