// SPDX-License-Identifier: Apache-2.0
#include "analysis/candidate.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/callers.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/score_adjustment.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostCandidates = 32;  // of one cycle
constexpr std::size_t kDeepestPath = 4;      // containers in containers

// True if the cycle leads only through a few containers. No reference of such a cycle names them,
// and following the references back would name a container by itself: dict['self']['self'].
bool has_only_containers(const CycleView& view) {
    return view.size() <= kDeepestPath && std::ranges::all_of(view.edges, [&](EdgeIx edge) {
               return is_container(view.graph, view.graph.edges[edge].holder);
           });
}

// Returns a candidate for reference `i` of `cycle`. `view` is a view of the same cycle.
InnerCandidate judge(const CycleView& view, const Cycle& cycle, std::size_t i) {
    InnerCandidate candidate;
    candidate.edges = {cycle[i]};
    if (!has_only_containers(view)) {
        if (is_container(view.graph, view.holder(i)) ||
            view.graph.is(view.holder(i), model::NodeKind::partial)) {
            candidate.keeper = view.edges[view.previous(i)];
        }
        for (std::size_t k = i;
             is_container(view.graph, view.holder(k)) && candidate.path.size() < kDeepestPath;) {
            k = view.previous(k);
            candidate.path.insert(candidate.path.begin(), view.edges[k]);
        }
    }
    candidate.code = storing_pack_hook(view, i);
    candidate.evidence = &evidence_of(view, i);
    if (candidate.evidence == &patterns::kStoredInArgument) {
        candidate.code = caller_of_user_function(view, view.outside_containers(i));
    }
    candidate.score = candidate.evidence->weight + adjustment_of(view, i);
    return candidate;
}

}  // namespace

Candidate to_candidate(InnerCandidate candidate, const Component& component) {
    std::vector<EdgeIx> edges;
    edges.reserve(candidate.edges.size());
    for (const InnerEdgeIx e : candidate.edges) {
        edges.push_back(component.edges[e]);
    }
    return {static_cast<Judgment&&>(candidate), std::move(edges)};
}

ReferenceKind kind_of(const Component& component, InnerEdgeIx e) {
    const CollapsedGraph& graph = component.graph;
    const CollapsedEdge& edge = component.edge(e);
    const bool container = is_container(graph, edge.holder);
    const model::Node& target = graph.node(component.target_node(e));
    return {container ? kNone : graph.node(edge.holder).name,
            container ? edge.holder : kNone,
            edge.label.kind,
            edge.label.name,
            target.captured_name == model::kEmptyString ? target.name : target.captured_name};
}

void note_variable(Judgment& judgment,
                   const CollapsedGraph& graph,
                   EdgeIx edge,
                   std::size_t references) {
    // References can also share a traceback, which is not a variable.
    const bool variable = graph.is_through_variable(edge);
    judgment.shared_cell = variable && references > 1;
    judgment.equivalent = variable ? references : 1;
}

InnerCandidate widened(const Component& component, InnerCandidate candidate, bool all_of_kind) {
    const CollapsedGraph& graph = component.graph;
    const InnerEdgeIx edge = candidate.edges.front();
    candidate.edges = {edge};
    const model::NodeId cell = component.edge(edge).cell;
    for (const InnerEdgeIx e : component.all_edges()) {
        if (cell != kNone && e != edge && component.edge(e).cell == cell) {
            candidate.edges.push_back(e);
        }
    }
    for (const EdgeIx copy : graph.copies_in_f_locals(component.edges[edge])) {
        const auto at = std::ranges::find(component.edges, copy);
        if (at != component.edges.end()) {
            candidate.edges.push_back(component.edges.index_at(at));
        }
    }
    note_variable(candidate, graph, component.edges[edge], candidate.edges.size());
    if (all_of_kind) {
        const ReferenceKind kind = kind_of(component, edge);
        for (const InnerEdgeIx e : component.all_edges()) {
            if (e != edge && (cell == kNone || component.edge(e).cell != cell) &&
                kind_of(component, e) == kind) {
                candidate.edges.push_back(e);
                ++candidate.equivalent;
            }
        }
    }
    return candidate;
}

void drop_needless(std::vector<InnerCandidate>& candidates,
                   const Component& component,
                   WorkLimit& work) {
    IndexSet<InnerEdgeIx> cut(component.edges.size());
    for (const InnerCandidate& candidate : candidates) {
        cut.insert(candidate.edges);
    }
    for (auto i = candidates.size(); i-- > 0 && candidates.size() > 1 && work.take_passes(1);) {
        cut.erase(candidates[i].edges);
        if (still_holds(component, cut)) {
            cut.insert(candidates[i].edges);
        } else {
            candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

std::vector<InnerCandidate> rank_cycle(const Component& component, const Cycle& cycle) {
    const std::vector<EdgeIx> edges = collapsed_edges(component, cycle);
    std::vector<InnerCandidate> ranked;
    ranked.reserve(cycle.size());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        ranked.push_back(judge({component.graph, edges}, cycle, i));
    }
    std::ranges::stable_sort(ranked, std::greater{}, &Judgment::score);
    ranked.resize(std::min(ranked.size(), kMostCandidates));
    return ranked;
}

InnerCandidate judge_reference(const Component& component, InnerEdgeIx e) {
    const Cycle cycle = shortest_cycle_through(component, e);
    const auto position = std::ranges::find(cycle, e) - cycle.begin();
    const std::vector<EdgeIx> edges = collapsed_edges(component, cycle);
    return edges.empty() ? InnerCandidate() : judge({component.graph, edges}, cycle, position);
}

}  // namespace cyclewatch::analysis
