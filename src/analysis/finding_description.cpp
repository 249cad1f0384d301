// SPDX-License-Identifier: Apache-2.0
#include "analysis/finding_description.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/advice_text.h"
#include "analysis/cut.h"
#include "analysis/names.h"
#include "analysis/picture.h"
#include "model/cycle_gap.h"

namespace cyclewatch::analysis {
namespace {

// Maximum number of entries in Finding::cycle.
constexpr std::size_t kMostCycleReferences = 200;
// Maximum number of references to list for one shared variable.
constexpr std::size_t kMostOfVariable = 8;
// Maximum number of different back references to list for one parent.
constexpr std::size_t kMostBackReferences = 200;

bool same_text(const model::Reference& a, const model::Reference& b) {
    return a.holder == b.holder && a.label == b.label && a.target == b.target &&
           a.location == b.location;
}

bool have_same_classes(const CollapsedGraph& graph, EdgeIx edge, EdgeIx other) {
    const auto same = [&graph](NodeIx node, NodeIx other_node) {
        const model::Node& a = graph.node(node);
        const model::Node& b = graph.node(other_node);
        return a.kind == b.kind && a.name == b.name;
    };
    return same(graph.edges[edge].holder, graph.edges[other].holder) &&
           same(graph.targets[edge], graph.targets[other]);
}

// Appends reference number `first` of `candidate`. If the references of `candidate` share a
// variable, appends all of them. Omits duplicates.
void append_references(std::vector<model::Reference>& list,
                       const CollapsedGraph& graph,
                       const Candidate& candidate,
                       const Cut& cut,
                       std::size_t first = 0) {
    std::vector<model::Reference> references;
    const std::size_t shown =
        candidate.shared_cell ? std::min(candidate.edges.size(), kMostOfVariable) : first + 1;
    for (std::size_t i = first; i < shown; ++i) {
        model::Reference reference =
            reference_of(graph, candidate.edges[i], i == 0 ? candidate.keeper : kNone);
        reference.reason = reason_of(graph, candidate, i, cut);
        reference.payload = candidate.payload;
        if (cut.parent != kNone) {
            reference.references =
                static_cast<std::uint64_t>(std::ranges::count_if(candidate.edges, [&](EdgeIx edge) {
                    return have_same_classes(graph, edge, candidate.edges[i]);
                }));
        }
        if (candidate.code != kNone) {
            reference.location = location_of_code(graph, candidate.code);
            reference.columns = {};
        }
        if (i == 0) {
            reference.holder_path = path_text(graph, candidate.path);
            for (auto at = candidate.path.rbegin();
                 reference.location.empty() && at != candidate.path.rend() &&
                 candidate.evidence != &patterns::kStoredInArgument;
                 ++at) {
                reference.location = location_of(graph, candidate.edges[0], *at);
            }
        }
        const NodeIx holder = graph.edges[candidate.edges[i]].holder;
        if (i == 0 && candidate.path.empty() && is_container(graph, holder)) {
            reference.holder_path = stored_in(graph, holder);
        }
        if (graph.is(holder, model::NodeKind::builtin_function)) {
            reference.holder_path = stored_in(graph, graph.targets[candidate.edges[i]]);
        } else if (cut.cut.size() > 1 && graph.is(holder, model::NodeKind::bound_method)) {
            reference.holder_path = stored_in(graph, holder);
        } else if (!graph.collectable &&
                   graph.edges[candidate.edges[i]].label.kind == model::EdgeKind::hook) {
            reference.holder_path = name_by_attribute(graph, holder);
        }
        references.push_back(std::move(reference));
    }
    std::sort(references.begin() + 1, references.end(), [](const auto& a, const auto& b) {
        return std::tie(a.holder, a.label) < std::tie(b.holder, b.label);
    });
    for (model::Reference& reference : references) {
        if (std::ranges::none_of(list,
                                 [&](const auto& other) { return same_text(other, reference); })) {
            list.push_back(std::move(reference));
        }
    }
}

// In a long cycle, one entry stands for the references in the middle; see model/cycle_gap.h.
std::vector<model::Reference> cycle_references(const CollapsedGraph& graph,
                                               std::span<const EdgeIx> cycle) {
    std::vector<model::Reference> references;
    const std::size_t left_out =
        cycle.size() > kMostCycleReferences ? cycle.size() - kMostCycleReferences + 1 : 0;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        references.push_back(reference_of(graph, cycle[i]));
        if (left_out > 0 && i + 1 == kMostCycleReferences / 2) {
            i += left_out;
            model::Reference gap;
            gap.holder = references.back().target;
            gap.label = model::gap_label(left_out);
            gap.target = full_name(graph, graph.targets[cycle[i]]);
            references.push_back(std::move(gap));
        }
    }
    return references;
}

// The cycle shown in the headline. If the back references to one parent must be cut, this cycle
// contains the first of them, even if `cycle` does not.
std::string title_of(const Component& component, const Cut& cut, std::span<const EdgeIx> cycle) {
    if (cut.parent == kNone ||
        std::ranges::find(cycle, cut.cut.front().edges.front()) != cycle.end()) {
        return cycle_text(component.graph, cycle);
    }
    const auto first = std::ranges::find(component.edges, cut.cut.front().edges.front());
    std::vector<EdgeIx> edges = collapsed_edges(
        component, shortest_cycle_through(component, component.edges.index_at(first)));
    std::rotate(edges.begin(), edges.begin() + 1, edges.end());  // starts at the parent
    return cycle_text(component.graph, edges);
}

// Drops alternatives that would look the same in a report as the cut. Two references can look the
// same because an item of a container may be shown as the attribute that refers to the container.
// Drops nothing if the cut consists of several references, because cutting only one of them is a
// different suggestion. Returns whether the first alternative was dropped.
bool drop_repeated_alternatives(model::Finding& finding) {
    const auto is_repeated = [&finding](const model::Reference& other) {
        const model::Reference& cut = finding.cut.front();
        return !cut.location.empty() && cut.location == other.location &&
               cut.label == other.label && cut.holder == other.holder;
    };
    if (finding.cut.size() != 1 || finding.alternatives.empty()) {
        return false;
    }
    const bool first = is_repeated(finding.alternatives.front());
    std::erase_if(finding.alternatives, is_repeated);
    return first;
}

void list_cut(model::Finding& finding, const CollapsedGraph& graph, const Cut& cut) {
    const Evidence& evidence = cut.cut.empty() ? *cut.without_cut : *cut.cut.front().evidence;
    finding.pattern = std::string(evidence.pattern);
    finding.freed_share = cut.freed_share;
    // List the first reference of each candidate, then the second of each candidate, and so on.
    // A candidate lists one reference for each pair of holder and target classes.
    std::size_t most_listed = 1;
    for (std::size_t i = 0; i < most_listed; ++i) {
        for (const Candidate& candidate : cut.cut) {
            most_listed = std::max(most_listed, candidate.listed);
            if (i < candidate.listed &&
                (cut.parent == kNone || finding.cut.size() < kMostBackReferences)) {
                append_references(finding.cut, graph, candidate, cut, i);
            } else if (i < candidate.listed) {
                ++finding.omitted_cuts;
            }
        }
    }
    const Cut none;  // reason_of(): these are alternatives
    for (const Candidate& candidate : cut.alternatives) {
        append_references(finding.alternatives, graph, candidate, none);
    }
    const bool tie_dropped = drop_repeated_alternatives(finding);
    finding.tie = cut.tie && !tie_dropped;
}

}  // namespace

model::Finding describe(const Component& component,
                        const Cycle& cycle,
                        const RetainedSize& retained,
                        const model::Observation& observation,
                        const OwnerWalk& walk,
                        std::uint64_t& work_left) {
    const CollapsedGraph& graph = component.graph;
    const std::vector<EdgeIx> edges = collapsed_edges(component, cycle);
    Cut cut = choose_cut(component, cycle, retained, work_left);
    model::Finding finding;
    finding.cycle = cycle_references(graph, edges);
    finding.title = title_of(component, cut, edges);
    list_cut(finding, graph, cut);
    cut.tie = finding.tie;
    finding.advice = advice_of(graph, cut);
    finding.cost = cost_of(graph, cut);
    finding.remedy = remedy_of(graph, cut);
    std::vector<EdgeIx> cut_edges;
    for (const Candidate& candidate : cut.cut) {
        cut_edges.insert(cut_edges.end(), candidate.edges.begin(), candidate.edges.end());
    }
    finding.picture = make_picture(graph, observation, edges, cut_edges, walk);
    return finding;
}

}  // namespace cyclewatch::analysis
