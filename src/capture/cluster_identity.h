// SPDX-License-Identifier: Apache-2.0
// Uses the unlabelled references of clusters (the bare graph) to recognize clusters whose labelled
// graphs would be equal. Two clusters with the same identity have equal objects and references, in
// the same order, with the same descriptions and labels. If their owners are equal too, so are
// their findings.
//
// REQUIRES (everything here): GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON:
// never. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wide_hash.h"
#include "capture/clusters.h"
#include "capture/raw_graph.h"
#include "collector/unreachable_set.h"
#include "python/type_traversal.h"

namespace cyclewatch::capture {

// The bare graph of one collection: the objects that die and the references between them, without
// labels.
struct BareGraph {
    std::span<PyObject* const> objects;
    std::size_t unreachable = 0;  // the first objects are the unreachable set, the rest dependents
    const collector::PointerIndex& index;
    const Adjacency& graph;
    const Clusters& clusters;
};

struct ClusterIdentities {
    // A hash per cluster. Zero if a hash cannot identify the cluster: an object's type was recently
    // modified, tracemalloc is tracing, or the cluster is too large.
    std::vector<base::WideHash> of_cluster;
    std::vector<std::uint32_t> number;  // per object: its position in its cluster; empty if all
                                        // clusters are unknown
};

// Caches information about types across collections.
class ClusterIdentifier {
  public:
    static constexpr std::uint64_t kMaxObjects = 5'000;  // in one cluster

    // False if any cluster is too large to be identified.
    [[nodiscard]] static bool may_know(const Clusters& clusters) {
        return std::ranges::all_of(clusters.size,
                                   [](std::uint64_t size) { return size <= kMaxObjects; });
    }

    // `values` has the same meaning as CaptureLimits::values. If may_know() is false, all
    // identities are unknown.
    [[nodiscard]] ClusterIdentities identify(const BareGraph& bare, bool values);

  private:
    struct Type {
        std::uint32_t version = 0;  // cyclewatch_type_version()
        bool is_plain = false;      // the labels of an instance's references depend on their order
        bool differs_per_object = false;
        python::TypeTraversal traversal;
    };
    class Pass;

    [[nodiscard]] const Type* type_of(PyObject* object);

    std::array<Type, 256> types_;
};

}  // namespace cyclewatch::capture
