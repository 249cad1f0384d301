// SPDX-License-Identifier: Apache-2.0
#include "analysis/candidate.h"

#include <algorithm>
#include <functional>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostCandidates = 32;  // of one cycle
constexpr std::size_t kDeepestPath = 4;      // containers in containers

// Returns a candidate for reference `i` of `cycle`. `view` is a view of the same cycle.
Candidate judge(const CycleView& view, const Cycle& cycle, std::size_t i) {
    Candidate candidate{.edges = {cycle[i]}};
    if (is_container(view.graph, view.holder(i)) ||
        view.graph.is(view.holder(i), model::NodeKind::partial)) {
        candidate.keeper = view.edges[view.previous(i)];
    }
    for (std::size_t k = i;
         is_container(view.graph, view.holder(k)) && candidate.path.size() < kDeepestPath;) {
        k = view.previous(k);
        candidate.path.insert(candidate.path.begin(), view.edges[k]);
    }
    candidate.evidence = &evidence_of(view, i);
    candidate.score = candidate.evidence->weight + adjustment_of(view, i);
    return candidate;
}

}  // namespace

ReferenceKind kind_of(const CollapsedGraph& graph, const Component& component, std::uint32_t e) {
    const CollapsedEdge& edge = graph.edges[component.edges[e]];
    const model::Node& holder = graph.node(edge.holder);
    const bool container = is_container(graph, edge.holder);
    return {container,
            container ? edge.holder : static_cast<std::uint32_t>(index_of(holder.name)),
            edge.label.kind,
            edge.label.name,
            graph.node(component.nodes[component.targets[e]]).name};
}

void note_variable(Candidate& candidate, const CollapsedGraph& graph, std::uint32_t edge) {
    // References can also share a traceback, which is not a variable.
    const bool variable = graph.is_through_variable(edge);
    candidate.shared_cell = variable && candidate.edges.size() > 1;
    candidate.equivalent = variable ? candidate.edges.size() : 1;
}

std::vector<Candidate> rank_cycle(const CollapsedGraph& graph,
                                  const Component& component,
                                  const Cycle& cycle) {
    const std::vector<std::uint32_t> edges = collapsed_edges(component, cycle);
    std::vector<Candidate> ranked;
    ranked.reserve(cycle.size());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        ranked.push_back(judge({graph, edges}, cycle, i));
    }
    std::ranges::stable_sort(ranked, std::greater{}, &Candidate::score);
    ranked.resize(std::min(ranked.size(), kMostCandidates));
    return ranked;
}

Candidate judge_reference(const CollapsedGraph& graph,
                          const Component& component,
                          std::uint32_t e) {
    const Cycle cycle = shortest_cycle_through(component, e);
    const auto position = std::ranges::find(cycle, e) - cycle.begin();
    const std::vector<std::uint32_t> edges = collapsed_edges(component, cycle);
    return edges.empty() ? Candidate() : judge({graph, edges}, cycle, position);
}

}  // namespace cyclewatch::analysis
