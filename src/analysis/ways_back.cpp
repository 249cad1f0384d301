// SPDX-License-Identifier: Apache-2.0
#include "analysis/ways_back.h"

#include <algorithm>

#include "graph/adjacency.h"
#include "graph/dominators.h"

namespace cyclewatch::analysis {
namespace {

// The position of each node in reverse postorder from `root`, ignoring the references marked in
// `dead`. Nodes that are not reached have position 0; the position of `root` is the number of such
// nodes.
std::vector<std::uint32_t> reverse_postorder(const Component& component,
                                             std::uint32_t root,
                                             std::span<const char> dead) {
    std::vector<std::uint32_t> next(component.first.begin(), component.first.end() - 1);
    std::vector<std::uint32_t> stack{root};
    std::vector<char> seen(component.size(), 0);
    seen[root] = 1;
    std::vector<std::uint32_t> number(component.size(), 0);
    auto numbers_left = static_cast<std::uint32_t>(component.size());
    while (!stack.empty()) {
        const std::uint32_t node = stack.back();
        if (next[node] == component.first[node + 1]) {
            number[node] = --numbers_left;
            stack.pop_back();
            continue;
        }
        const std::uint32_t e = next[node]++;
        const std::uint32_t target = component.targets[e];
        if (seen[target] == 0 && (dead.empty() || dead[e] == 0)) {
            seen[target] = 1;
            stack.push_back(target);
        }
    }
    return number;
}

}  // namespace

std::vector<std::uint32_t> ways_back(const Component& component,
                                     std::uint32_t root,
                                     std::span<const char> dead) {
    if (dead.empty() && component.targets.size() == component.size()) {
        // If the component has as many references as nodes, it is a single cycle.
        const auto to_root = std::ranges::find(component.targets, root);
        return {static_cast<std::uint32_t>(to_root - component.targets.begin())};
    }
    std::vector<std::uint32_t> number = reverse_postorder(component, root, dead);
    // Assign numbers to the reached nodes, starting at 1. All other nodes get the number 0.
    const std::uint32_t unreached = number[root];
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        const bool reached = n == root || number[n] > unreached;
        number[n] = reached ? number[n] - unreached + 1 : 0;
    }
    const auto counts = [&](std::uint32_t e) {
        return (dead.empty() || dead[e] == 0) && number[component.holder[e]] != 0;
    };
    graph::Rows holders(component.size() - unreached + 1);
    for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
        if (counts(e)) {
            holders.count(number[component.targets[e]] - 1);
        }
    }
    holders.begin_filling();
    for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
        if (counts(e)) {
            holders.fill(number[component.targets[e]] - 1, number[component.holder[e]] - 1);
        }
    }
    const graph::DominatorTree tree = graph::dominators(holders.view());
    std::vector<std::uint32_t> back;
    for (std::uint32_t e = 0; e < component.targets.size() && !tree.parent.empty(); ++e) {
        const std::uint32_t from = number[component.holder[e]];
        const std::uint32_t to = number[component.targets[e]];
        // The dominators of a node have lower numbers than the node.
        if (to <= from && counts(e) && graph::dominates(tree, to - 1, from - 1)) {
            back.push_back(e);
        }
    }
    return back;
}

bool reaches_all(const Component& component, std::uint32_t root, std::span<const char> dead) {
    return reverse_postorder(component, root, dead)[root] == 0;
}

}  // namespace cyclewatch::analysis
