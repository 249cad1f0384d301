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
std::vector<char> structural_or_self(const CollapsedGraph& graph, const Component& component) {
    std::vector<char> dead = component.structural;
    for (std::size_t e = 0; e < dead.size(); ++e) {
        const bool refers_to_itself = component.targets[e] == component.holder[e];
        dead[e] |= refers_to_itself && is_attribute(graph, component.edges[e]) ? 1 : 0;
    }
    return dead;
}

// Breadth-first search in layers. Nodes in layer s are reached through s structural references.
class CycleSearch {
  public:
    CycleSearch(const Component& component, std::uint32_t start, std::span<const char> dead)
        : component_(component), start_(start), dead_(dead), reached_by_(component.size(), kNone) {}

    Cycle run() {
        std::vector<std::uint32_t> layer{start_};
        while (!layer.empty() && closing_ == kNone) {
            layer = search_layer(std::move(layer));
        }
        return closing_ == kNone ? Cycle{} : walk_back();
    }

  private:
    [[nodiscard]] bool alive(std::uint32_t e) const { return dead_.empty() || dead_[e] == 0; }

    // Completes the layer whose first nodes are in `queue`. Returns the first nodes of the next
    // layer.
    std::vector<std::uint32_t> search_layer(std::vector<std::uint32_t> queue) {
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (follow(queue[i], false, queue)) {
                return {};
            }
        }
        std::vector<std::uint32_t> next;
        for (const std::uint32_t node : queue) {
            if (follow(node, true, next)) {
                return {};
            }
        }
        return next;
    }

    // Returns true if a reference from `node` closes the cycle.
    bool follow(std::uint32_t node, bool structural, std::vector<std::uint32_t>& found) {
        for (std::uint32_t e = component_.first[node]; e < component_.first[node + 1]; ++e) {
            if ((component_.structural[e] != 0) != structural || !alive(e)) {
                continue;
            }
            const std::uint32_t target = component_.targets[e];
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
    std::uint32_t start_;
    std::span<const char> dead_;
    std::vector<std::uint32_t> reached_by_;
    std::uint32_t closing_ = kNone;
};

// For each node n, finds the node that is on a cycle and has the shortest path to n, and credits
// the retained bytes of n to that node. A node on a cycle is credited with its own bytes. Returns
// the credited bytes per node.
std::vector<std::uint64_t> credit_bytes(const Component& component,
                                        const std::vector<char>& in_cycle,
                                        std::span<const char> dead) {
    std::vector<std::uint64_t> bytes(component.size(), 0);
    std::vector<std::uint32_t> credited(component.size(), kNone);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        if (in_cycle[n] != 0) {
            credited[n] = n;
            queue.push_back(n);
        }
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const std::uint32_t n = queue[i];
        bytes[credited[n]] += component.kept[n];
        for (std::uint32_t e = component.first[n]; e < component.first[n + 1]; ++e) {
            const std::uint32_t target = component.targets[e];
            if (dead[e] == 0 && credited[target] == kNone) {
                credited[target] = credited[n];
                queue.push_back(target);
            }
        }
    }
    return bytes;
}

std::vector<char> nodes_in_cycles(const Component& component, std::span<const char> dead) {
    const graph::StrongComponents parts = graph::strong_components(component.view(), dead);
    std::vector<char> in_cycle(component.size());
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        in_cycle[n] = parts.cyclic[parts.of[n]] ? 1 : 0;
    }
    return in_cycle;
}

// The best nodes from which to start a cycle. Returns at most kMostTies nodes, all equally good.
std::vector<std::uint32_t> best_starts(const CollapsedGraph& graph,
                                       const Component& component,
                                       const std::vector<char>& in_cycle,
                                       const std::vector<std::uint64_t>& bytes) {
    const auto better = [&](std::uint32_t a, std::uint32_t b) {
        const auto key = [&](std::uint32_t n) {
            return std::tuple(
                ~bytes[n], component.leads_out[n] == 0, is_container(graph, component.nodes[n]));
        };
        return key(a) < key(b);
    };
    std::vector<std::uint32_t> best;
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        if (in_cycle[n] == 0) {
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

std::string text_of(const CollapsedGraph& graph, const Component& component, const Cycle& cycle) {
    std::string text;
    for (const std::uint32_t e : cycle) {
        text += full_name(graph, component.nodes[component.holder[e]]) + " " +
                label_of(graph, component.edges[e]) + "\n";
    }
    return text;
}

}  // namespace

std::vector<std::uint32_t> collapsed_edges(const Component& component, const Cycle& cycle) {
    std::vector<std::uint32_t> edges;
    for (const std::uint32_t e : cycle) {
        edges.push_back(component.edges[e]);
    }
    return edges;
}

Cycle shortest_cycle(const Component& component, std::uint32_t start, std::span<const char> dead) {
    return CycleSearch(component, start, dead).run();
}

Cycle shortest_cycle_through(const Component& component, std::uint32_t e) {
    std::vector<char> others(component.targets.size(), 0);
    const std::uint32_t holder = component.holder[e];
    for (std::uint32_t o = component.first[holder]; o < component.first[holder + 1]; ++o) {
        others[o] = o == e ? 0 : 1;
    }
    return shortest_cycle(component, holder, others);
}

Cycle choose_cycle(const CollapsedGraph& graph, const Component& component) {
    const std::vector<char> none(component.targets.size(), 0);
    std::vector<char> dead;
    std::vector<char> in_cycle;
    for (const std::vector<char>& ignored :
         {structural_or_self(graph, component), component.structural, none}) {
        dead = ignored;
        in_cycle = nodes_in_cycles(component, dead);
        if (std::ranges::find(in_cycle, 1) != in_cycle.end()) {
            break;
        }
    }
    const std::vector<std::uint64_t> bytes = credit_bytes(component, in_cycle, dead);
    const std::vector<std::uint32_t> starts = best_starts(graph, component, in_cycle, bytes);
    if (starts.size() == 1) {
        return shortest_cycle(component, starts.front(), dead);
    }
    Cycle best;
    std::string best_text;
    for (const std::uint32_t start : starts) {
        Cycle cycle = shortest_cycle(component, start, dead);
        std::string text = text_of(graph, component, cycle);
        const bool shorter = best.empty() || cycle.size() < best.size();
        if (shorter || (cycle.size() == best.size() && text < best_text)) {
            best = std::move(cycle);
            best_text = std::move(text);
        }
    }
    return best;
}

}  // namespace cyclewatch::analysis
