// SPDX-License-Identifier: Apache-2.0
#include "analysis/ways_back.h"

#include <algorithm>
#include <utility>

#include "graph/dominators.h"

namespace cyclewatch::analysis {
namespace {

using graph::TreeIx;

// The position of each node in reverse postorder from `root`, ignoring the references in `dead`.
// kNone for nodes that are not reached.
IndexedVector<MemberIx, TreeIx> reverse_postorder(const Component& component,
                                                  MemberIx root,
                                                  const IndexSet<InnerEdgeIx>& dead) {
    struct Step {
        MemberIx node;
        IndexRange<InnerEdgeIx> edges_left;
    };
    std::vector<Step> stack;
    std::vector<MemberIx> postorder;
    IndexSet<MemberIx> seen(component.size());
    const auto enter = [&](MemberIx node) {
        if (seen.insert(node)) {
            stack.push_back({node, component.edges_of(node)});
        }
    };
    enter(root);
    while (!stack.empty()) {
        Step& step = stack.back();
        if (step.edges_left.empty()) {
            postorder.push_back(step.node);
            stack.pop_back();
        } else if (const InnerEdgeIx e = step.edges_left.pop_front(); !dead.contains(e)) {
            enter(component.targets[e]);
        }
    }
    IndexedVector<MemberIx, TreeIx> position(component.size(), kNone);
    for (TreeIx next = graph::kRoot; const MemberIx node : base::Reversed{postorder}) {
        position[node] = std::exchange(next, next_index(next));
    }
    return position;
}

}  // namespace

std::vector<InnerEdgeIx> ways_back(const Component& component,
                                   MemberIx root,
                                   const IndexSet<InnerEdgeIx>& dead) {
    if (component.edges.size() == component.size() && dead.empty()) {
        // If the component has as many references as nodes, it is a single cycle.
        return {component.targets.index_at(std::ranges::find(component.targets, root))};
    }
    const auto position = reverse_postorder(component, root, dead);
    std::vector<InnerEdgeIx> edges;  // between nodes that are reached
    for (const InnerEdgeIx e : component.all_edges()) {
        if (!dead.contains(e) && position[component.holder[e]] != kNone) {
            edges.push_back(e);
        }
    }
    const graph::Rows<TreeIx, TreeIx> holders(component.size(), [&](auto visit) {
        for (const InnerEdgeIx e : edges) {
            visit(position[component.targets[e]], position[component.holder[e]]);
        }
    });
    const graph::DominatorTree tree = graph::dominators(holders);
    if (tree.parent.empty()) {
        return {};
    }
    // The dominators of a node have lower numbers than the node.
    std::erase_if(edges, [&](InnerEdgeIx e) {
        const TreeIx from = position[component.holder[e]];
        const TreeIx to = position[component.targets[e]];
        return to > from || !graph::dominates(tree, to, from);
    });
    return edges;
}

bool reaches_all(const Component& component, MemberIx root, const IndexSet<InnerEdgeIx>& dead) {
    const auto position = reverse_postorder(component, root, dead);
    return std::ranges::none_of(position, [](TreeIx at) { return at == kNone; });
}

}  // namespace cyclewatch::analysis
