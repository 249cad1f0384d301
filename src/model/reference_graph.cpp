// SPDX-License-Identifier: Apache-2.0
#include "model/reference_graph.h"

#include <utility>

namespace cyclewatch::model {

NodeId ReferenceGraphBuilder::add_node(const Node& node) {
    const auto id = static_cast<NodeId>(graph_.nodes.size());
    graph_.nodes.push_back(node);
    return id;
}

void ReferenceGraphBuilder::add_edge(NodeId from, NodeId to, EdgeLabel label) {
    // Skipped rows become empty.
    graph_.first_edge.resize(index_of(from) + 1, static_cast<std::uint32_t>(graph_.edges.size()));
    graph_.edges.push_back(Edge{to, label});
}

ReferenceGraph ReferenceGraphBuilder::finish() {
    graph_.first_edge.resize(graph_.nodes.size() + 1,
                             static_cast<std::uint32_t>(graph_.edges.size()));
    return std::exchange(graph_, ReferenceGraph{});
}

}  // namespace cyclewatch::model
