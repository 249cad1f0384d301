// SPDX-License-Identifier: Apache-2.0
#include "analysis/shortest_cycle.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

// Maximum number of equally good start nodes whose cycles are compared as text.
constexpr std::size_t kMostTies = 4;

// Marks structural references, and attributes that refer to their own object, because cycles
// through them rarely keep the rest of the component alive.
IndexSet<InnerEdgeIx> structural_or_self(const Component& component) {
    IndexSet<InnerEdgeIx> dead = component.structural;
    for (const InnerEdgeIx e : component.all_edges()) {
        if (component.targets[e] == component.holder[e] &&
            is_attribute(component.graph, component.edges[e])) {
            dead.insert(e);
        }
    }
    return dead;
}

// Breadth-first search in layers. Nodes in layer s are reached through s structural references.
class CycleSearch {
  public:
    CycleSearch(const Component& component, MemberIx start, const IndexSet<InnerEdgeIx>& dead)
        : component_(component), start_(start), dead_(dead), reached_by_(component.size(), kNone) {}

    Cycle run() {
        std::vector<MemberIx> layer{start_};
        while (!layer.empty() && closing_ == kNone) {
            layer = search_layer(std::move(layer));
        }
        return closing_ == kNone ? Cycle{} : walk_back();
    }

  private:
    // Completes the layer whose first nodes are in `queue`. Returns the first nodes of the next
    // layer.
    std::vector<MemberIx> search_layer(std::vector<MemberIx> queue) {
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (follow(queue[i], false, queue)) {
                return {};
            }
        }
        std::vector<MemberIx> next;
        for (const MemberIx node : queue) {
            if (follow(node, true, next)) {
                return {};
            }
        }
        return next;
    }

    // Returns true if a reference from `node` closes the cycle.
    bool follow(MemberIx node, bool structural, std::vector<MemberIx>& found) {
        for (const InnerEdgeIx e : component_.edges_of(node)) {
            if (component_.structural.contains(e) != structural || dead_.contains(e)) {
                continue;
            }
            const MemberIx target = component_.targets[e];
            if (target == start_) {
                closing_ = e;
                return true;
            }
            if (reached_by_[target] == kNone) {
                reached_by_[target] = e;
                found.push_back(target);
            }
        }
        return false;
    }

    Cycle walk_back() const {
        Cycle cycle{closing_};
        while (component_.holder[cycle.back()] != start_) {
            cycle.push_back(reached_by_[component_.holder[cycle.back()]]);
        }
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
    }

    const Component& component_;
    MemberIx start_;
    const IndexSet<InnerEdgeIx>& dead_;
    IndexedVector<MemberIx, InnerEdgeIx> reached_by_;
    InnerEdgeIx closing_ = kNone;
};

// For each node n, finds the node that is on a cycle and has the shortest path to n, and credits
// the retained bytes of n to that node. A node on a cycle is credited with its own bytes. Returns
// the credited bytes per node.
IndexedVector<MemberIx, std::uint64_t> credit_bytes(const Component& component,
                                                    const IndexSet<MemberIx>& in_cycle,
                                                    const IndexSet<InnerEdgeIx>& dead) {
    IndexedVector<MemberIx, std::uint64_t> bytes(component.size(), 0);
    IndexedVector<MemberIx, MemberIx> credited(component.size(), kNone);
    std::vector<MemberIx> queue;
    for (const MemberIx n : component.all_nodes()) {
        if (in_cycle.contains(n)) {
            credited[n] = n;
            queue.push_back(n);
        }
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const MemberIx n = queue[i];
        bytes[credited[n]] += component.kept[n];
        for (const InnerEdgeIx e : component.edges_of(n)) {
            const MemberIx target = component.targets[e];
            if (!dead.contains(e) && credited[target] == kNone) {
                credited[target] = credited[n];
                queue.push_back(target);
            }
        }
    }
    return bytes;
}

IndexSet<MemberIx> nodes_in_cycles(const Component& component, const IndexSet<InnerEdgeIx>& dead) {
    const auto parts = graph::strong_components(component, dead);
    IndexSet<MemberIx> in_cycle;
    for (const MemberIx n : component.all_nodes()) {
        if (parts.cyclic[parts.of[n]]) {
            in_cycle.insert(n);
        }
    }
    return in_cycle;
}

// The best nodes from which to start a cycle. Returns at most kMostTies nodes, all equally good.
std::vector<MemberIx> best_starts(const Component& component,
                                  const IndexSet<MemberIx>& in_cycle,
                                  const IndexedVector<MemberIx, std::uint64_t>& bytes) {
    const auto better = [&](MemberIx a, MemberIx b) {
        const auto key = [&](MemberIx n) {
            return std::tuple(~bytes[n],
                              !component.leads_out.contains(n),
                              is_container(component.graph, component.nodes[n]));
        };
        return key(a) < key(b);
    };
    std::vector<MemberIx> best;
    for (const MemberIx n : component.all_nodes()) {
        if (!in_cycle.contains(n)) {
            continue;
        }
        if (!best.empty() && better(n, best.front())) {
            best.clear();
        }
        if (best.empty() || (!better(best.front(), n) && best.size() < kMostTies)) {
            best.push_back(n);
        }
    }
    return best;
}

std::string text_of(const Component& component, const Cycle& cycle) {
    std::string text;
    for (const InnerEdgeIx e : cycle) {
        text += full_name(component.graph, component.holder_node(e)) + " " +
                label_of(component.graph, component.edges[e]) + "\n";
    }
    return text;
}

}  // namespace

std::vector<EdgeIx> collapsed_edges(const Component& component, const Cycle& cycle) {
    std::vector<EdgeIx> edges;
    for (const InnerEdgeIx e : cycle) {
        edges.push_back(component.edges[e]);
    }
    return edges;
}

Cycle shortest_cycle(const Component& component,
                     MemberIx start,
                     const IndexSet<InnerEdgeIx>& dead) {
    return CycleSearch(component, start, dead).run();
}

Cycle shortest_cycle_through(const Component& component, InnerEdgeIx e) {
    IndexSet<InnerEdgeIx> others;
    const MemberIx holder = component.holder[e];
    for (const InnerEdgeIx other : component.edges_of(holder)) {
        if (other != e) {
            others.insert(other);
        }
    }
    return shortest_cycle(component, holder, others);
}

Cycle choose_cycle(const Component& component, const IndexSet<InnerEdgeIx>& removed) {
    IndexSet<InnerEdgeIx> dead;
    IndexSet<MemberIx> in_cycle;
    for (const IndexSet<InnerEdgeIx>& ignored :
         {structural_or_self(component), component.structural, IndexSet<InnerEdgeIx>()}) {
        dead = ignored;
        for (const InnerEdgeIx e : component.all_edges()) {
            if (removed.contains(e)) {
                dead.insert(e);
            }
        }
        in_cycle = nodes_in_cycles(component, dead);
        if (!in_cycle.empty()) {
            break;
        }
    }
    const auto bytes = credit_bytes(component, in_cycle, dead);
    const std::vector<MemberIx> starts = best_starts(component, in_cycle, bytes);
    if (starts.size() == 1) {
        return shortest_cycle(component, starts.front(), dead);
    }
    Cycle best;
    std::string best_text;
    for (const MemberIx start : starts) {
        Cycle cycle = shortest_cycle(component, start, dead);
        std::string text = text_of(component, cycle);
        const bool shorter = best.empty() || cycle.size() < best.size();
        if (shorter || (cycle.size() == best.size() && text < best_text)) {
            best = std::move(cycle);
            best_text = std::move(text);
        }
    }
    return best;
}

}  // namespace cyclewatch::analysis
