// SPDX-License-Identifier: Apache-2.0
#include "analysis/weak_targets.h"

#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/roles.h"

namespace cyclewatch::analysis {
namespace {

bool is_about_items(const CollapsedGraph& graph, const Candidate& candidate) {
    const Evidence* const evidence = candidate.evidence;
    return evidence == &patterns::kBackToParentInList ||
           ((evidence == &patterns::kListOfHandles || evidence == &patterns::kEntersItself) &&
            is_container(graph, graph.targets[candidate.edges.front()]));
}

class Search {
  public:
    Search(const CollapsedGraph& graph, WeakTargets& result) : graph_(graph), result_(result) {}

    void visit_target(EdgeIx edge) {
        const NodeIx target = graph_.targets[edge];
        if (!graph_.is(target, model::NodeKind::bound_method)) {
            require_support(edge);
            return;
        }
        result_.are_methods = true;
        for (const EdgeIx e : graph_.edges_of(target)) {
            if (graph_.label_name(e) == "__self__") {
                require_support(e);  // as WeakMethod() does
            }
        }
    }

    void visit_items(NodeIx container, int depth) {
        for (const EdgeIx e : graph_.edges_of(container)) {
            const NodeIx item = graph_.targets[e];
            if (graph_.edges[e].structural) {
                continue;
            }
            if (is_container(graph_, item) && depth < Roles::kDeepestContainer) {
                visit_items(item, depth + 1);
            } else {
                visit_target(e);
            }
        }
    }

  private:
    // A built-in method is created by each access, so a weak reference to it is dead at once.
    void require_support(EdgeIx edge) {
        const NodeIx target = graph_.targets[edge];
        if (result_.edge == kNone && (!graph_.node(target).supports_weakref ||
                                      graph_.is(target, model::NodeKind::builtin_function))) {
            result_.edge = edge;
        }
    }

    const CollapsedGraph& graph_;
    WeakTargets& result_;
};

}  // namespace

WeakTargets weak_targets_of(const CollapsedGraph& graph, const Candidate& candidate) {
    WeakTargets result{.are_items = is_about_items(graph, candidate)};
    Search search(graph, result);
    for (const EdgeIx edge : candidate.edges) {
        if (result.are_items) {
            search.visit_items(graph.targets[edge], 1);
        } else {
            search.visit_target(edge);
        }
    }
    return result;
}

}  // namespace cyclewatch::analysis
