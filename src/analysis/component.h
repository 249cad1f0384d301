// SPDX-License-Identifier: Apache-2.0
// A strongly connected component as a graph whose nodes are numbered from 0.
#pragma once

#include <cstdint>

#include "analysis/collapsed_graph.h"
#include "analysis/retained_size.h"

namespace cyclewatch::analysis {

enum class MemberIx : std::uint32_t {};     // a node of a component
enum class InnerEdgeIx : std::uint32_t {};  // a reference between two nodes of a component

struct Component : graph::Graph<MemberIx, InnerEdgeIx> {
    Component(const CollapsedGraph& collapsed, ComponentIx component)
        : graph(collapsed), index(component) {}

    const CollapsedGraph& graph;
    ComponentIx index;
    IndexedVector<MemberIx, NodeIx> nodes;
    IndexedVector<InnerEdgeIx, EdgeIx> edges;
    IndexedVector<InnerEdgeIx, MemberIx> holder;
    IndexSet<InnerEdgeIx> structural;
    // The nodes that own memory that the collection frees, or refer to an object outside the
    // component from which such memory can be reached.
    IndexSet<MemberIx> leads_out;
    IndexedVector<MemberIx, std::uint64_t> kept;  // RetainedSize::kept_by()

    [[nodiscard]] const CollapsedEdge& edge(InnerEdgeIx e) const { return graph.edges[edges[e]]; }
    [[nodiscard]] NodeIx holder_node(InnerEdgeIx e) const { return nodes[holder[e]]; }
    [[nodiscard]] NodeIx target_node(InnerEdgeIx e) const { return nodes[targets[e]]; }
};

// Limits the number of nodes and references of a component that a search visits.
class WorkLimit {
  public:
    WorkLimit(const Component& component, std::uint64_t most)
        : pass_(component.size() + component.targets.size()), left_(most) {}

    // Subtracts the work of `passes` passes over the component. If the work would exceed the limit,
    // subtracts nothing and returns false.
    bool take_passes(std::uint64_t passes) {
        const bool enough = passes * pass_ <= left_;
        left_ -= enough ? passes * pass_ : 0;
        return enough;
    }

  private:
    std::uint64_t pass_;
    std::uint64_t left_;
};

// Extracts components from the graph.
class ComponentExtractor {
  public:
    ComponentExtractor(const CollapsedGraph& graph,
                       const Components& components,
                       const RetainedSize& retained);

    [[nodiscard]] Component extract(ComponentIx component);

  private:
    const CollapsedGraph& graph_;
    const Components& components_;
    const RetainedSize& retained_;
    graph::Rows<ComponentIx, NodeIx> members_;
    IndexedVector<NodeIx, MemberIx> member_of_;  // the component extracted last
};

// True if a cycle that retains memory remains once the references in `dead` are removed.
[[nodiscard]] bool still_holds(const Component& component, const IndexSet<InnerEdgeIx>& dead);

}  // namespace cyclewatch::analysis
