// SPDX-License-Identifier: Apache-2.0
// Turns the unreachable objects into a reference graph: plain data, with a label for every
// reference. Later stages do not use PyObject*.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects except as described in object_summary.h. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wide_hash.h"
#include "capture/cluster_identity.h"
#include "capture/clusters.h"
#include "capture/raw_graph.h"
#include "collector/unreachable_set.h"
#include "model/observation.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

struct CaptureLimits {
    static constexpr std::uint64_t kRepeated = 5'000;
    static constexpr std::uint64_t kSubgraph = 5'000;

    // The maximum number of objects to name in one collection. Either all objects of a cluster are
    // named or none are. However, at least a part of the first cluster is always named
    // (capture/subgraph_selection.h).
    std::uint64_t max_objects = 50'000;
    // Lower limits apply to repeated clusters, and to the named part of a cluster that is too large
    // to be named completely.
    [[nodiscard]] std::uint64_t max_repeated() const { return std::min(max_objects, kRepeated); }
    [[nodiscard]] std::uint64_t max_subgraph() const { return std::min(max_objects, kSubgraph); }
    bool values = false;  // show dict keys that are not identifiers (capture_values)
};

// How the captured graph represents one owner.
struct OwnerPlace {
    enum class Kind : std::uint8_t { node, repeated, omitted };
    Kind kind = Kind::omitted;
    model::NodeId node{};      // kind node: its node
    std::uint32_t repeat = 0;  // kind repeated: index into CapturedGraph::repeats
};

struct CapturedGraph {
    model::ReferenceGraph graph;
    std::vector<OwnerPlace> owners;             // parallel to the `owners` argument
    std::vector<model::RepeatedShape> repeats;  // without bytes and owners
    std::uint64_t omitted_objects = 0;
    std::uint64_t omitted_references = 0;  // between captured objects
};

// Identifies the graph of one collection.
struct GraphIdentity {
    struct Owner {
        std::uint32_t cluster = 0;
        std::uint32_t number = 0;  // its position in the cluster
    };
    std::vector<base::WideHash> clusters;  // as in ClusterIdentities
    std::vector<Owner> owners;             // parallel to the `owners` argument
};

// The capture of one collection, in two steps: the constructor collects the unlabelled references
// (the bare graph), and capture() labels them. The arguments of the constructor must outlive this
// object.
class GraphCapture {
  public:
    // `unreachable` and `dependents` together contain all objects that die
    // (device/owner_detector.h). `owners` is a subset of these objects.
    // `hidden`: further references between these objects; may be null.
    GraphCapture(std::span<PyObject* const> unreachable,
                 std::span<PyObject* const> dependents,
                 std::span<PyObject* const> owners,
                 const collector::HiddenReferences* hidden = nullptr);
    GraphCapture(const GraphCapture&) = delete;
    GraphCapture& operator=(const GraphCapture&) = delete;

    // Returns the identity of the graph that capture() would return. `values` has the same meaning
    // as CaptureLimits::values. Call this before capture().
    [[nodiscard]] GraphIdentity identify(ClusterIdentifier& identifier, bool values);

    // Call this only once, because it frees data that is needed to select the objects.
    [[nodiscard]] CapturedGraph capture(const CaptureLimits& limits);

  private:
    // Above this number, each step frees data that the next step does not need, even if a later
    // step must rebuild the data.
    static constexpr std::size_t kManyObjects = 100'000;

    struct Selection {
        std::vector<std::uint32_t> objects;  // positions of the objects to name, ascending
        std::uint64_t omitted = 0;
    };

    [[nodiscard]] Selection select(const std::vector<ClusterChoice>& choices) const;
    [[nodiscard]] Selection select_part(const std::vector<ClusterChoice>& choices,
                                        std::uint64_t limit);

    std::span<PyObject* const> owners_;
    const collector::HiddenReferences* hidden_ = nullptr;
    std::size_t unreachable_ = 0;
    std::vector<PyObject*> all_;  // empty if there are no dependents, which are rare
    std::span<PyObject* const> objects_;
    collector::PointerIndex index_;
    std::vector<std::uint32_t> owner_positions_;
    std::vector<std::uint32_t> owner_clusters_;
    Adjacency graph_;
    Adjacency reverse_;  // empty if it was freed
    Clusters clusters_;
};

}  // namespace cyclewatch::capture
