// SPDX-License-Identifier: Apache-2.0
// Strongly connected components (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972),
// with an explicit stack instead of recursion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace cyclewatch::graph {

// A strongly connected component of a graph.
enum class ComponentIx : std::uint32_t {};

template <Index Node>
struct StrongComponents {
    IndexedVector<Node, ComponentIx> of;
    IndexedVector<ComponentIx, std::uint32_t> size;
    IndexedVector<ComponentIx, bool> cyclic;  // contains a cycle or a self-reference

    [[nodiscard]] std::size_t count() const { return size.size(); }
    [[nodiscard]] IndexRange<ComponentIx> all() const { return size.indexes(); }
};

template <Index Node, Index Edge>
class StrongComponentSearch {
  public:
    StrongComponentSearch(const Graph<Node, Edge>& graph, const IndexSet<Edge>& dead)
        : graph_(graph), dead_(dead), order_(graph.size(), kUnseen), low_(graph.size()) {
        result_.of.assign(graph.size(), kNone);
    }

    StrongComponents<Node> run() {
        for (const Node node : graph_.all_nodes()) {
            if (order_[node] == kUnseen) {
                search_from(node);
            }
        }
        mark_self_references();
        return std::move(result_);
    }

  private:
    struct Frame {
        Node node;
        IndexRange<Edge> edges_left;
    };

    void enter(Node node) {
        order_[node] = low_[node] = counter_++;
        open_.push_back(node);
        frames_.push_back({node, graph_.edges_of(node)});
    }

    void search_from(Node start) {
        enter(start);
        while (!frames_.empty()) {
            Frame& frame = frames_.back();
            const Node node = frame.node;
            if (frame.edges_left.empty()) {
                leave(node);
                continue;
            }
            const Edge edge = frame.edges_left.pop_front();
            if (dead_.contains(edge)) {
                continue;
            }
            const Node target = graph_.targets[edge];
            if (order_[target] == kUnseen) {
                enter(target);  // invalidates `frame`
            } else if (result_.of[target] == kNone) {
                low_[node] = std::min(low_[node], order_[target]);
            }
        }
    }

    void leave(Node node) {
        frames_.pop_back();
        if (!frames_.empty()) {
            std::uint32_t& parent_low = low_[frames_.back().node];
            parent_low = std::min(parent_low, low_[node]);
        }
        if (low_[node] != order_[node]) {
            return;
        }
        const ComponentIx component = result_.size.end_index();
        std::uint32_t size = 0;
        Node member;
        do {
            member = open_.back();
            open_.pop_back();
            result_.of[member] = component;
            ++size;
        } while (member != node);
        result_.size.push_back(size);
        result_.cyclic.push_back(size > 1);
    }

    void mark_self_references() {
        for (const Node node : graph_.all_nodes()) {
            for (const Edge e : graph_.edges_of(node)) {
                if (graph_.targets[e] == node && !dead_.contains(e)) {
                    result_.cyclic[result_.of[node]] = true;
                }
            }
        }
    }

    static constexpr std::uint32_t kUnseen = UINT32_MAX;

    const Graph<Node, Edge>& graph_;
    const IndexSet<Edge>& dead_;
    IndexedVector<Node, std::uint32_t> order_;
    IndexedVector<Node, std::uint32_t> low_;
    std::vector<Node> open_;
    std::vector<Frame> frames_;
    std::uint32_t counter_ = 0;
    StrongComponents<Node> result_;
};

// Components are numbered in reverse topological order, so an edge between two components leads
// from the higher number to the lower. Edges in `dead` are ignored. Linear time.
template <Index Node, Index Edge>
[[nodiscard]] StrongComponents<Node> strong_components(const Graph<Node, Edge>& graph,
                                                       const IndexSet<Edge>& dead = {}) {
    return StrongComponentSearch<Node, Edge>(graph, dead).run();
}

}  // namespace cyclewatch::graph
