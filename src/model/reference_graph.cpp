// SPDX-License-Identifier: Apache-2.0
#include "model/reference_graph.h"

#include <utility>

namespace cyclewatch::model {

StringId StringTable::intern(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) {
        return found->second;
    }
    const auto id = static_cast<StringId>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), id);
    return id;
}

std::string_view kind_prefix(NodeKind kind) {
    switch (kind) {
        case NodeKind::function:
            return "function ";
        case NodeKind::bound_method:
            return "bound method ";
        case NodeKind::builtin_function:
            return "builtin method ";
        case NodeKind::frame:
            return "frame of ";
        case NodeKind::generator:
            return "generator ";
        case NodeKind::coroutine:
            return "coroutine ";
        case NodeKind::async_generator:
            return "async generator ";
        case NodeKind::type:
            return "class ";
        case NodeKind::module:
            return "module ";
        default:
            return "";
    }
}

NodeId ReferenceGraphBuilder::add_node(const Node& node) {
    graph_.nodes.push_back(node);
    return static_cast<NodeId>(graph_.nodes.size() - 1);
}

void ReferenceGraphBuilder::add_edge(NodeId from, NodeId to, EdgeLabel label) {
    // Skipped rows become empty.
    graph_.first_edge.resize(index_of(from) + 1, graph_.edges.end_index());
    graph_.edges.push_back(Edge{to, label});
}

ReferenceGraph ReferenceGraphBuilder::finish() {
    graph_.first_edge.resize(graph_.nodes.size() + 1, graph_.edges.end_index());
    return std::exchange(graph_, ReferenceGraph{});
}

}  // namespace cyclewatch::model
