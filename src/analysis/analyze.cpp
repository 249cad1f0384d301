// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyze.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/canonical_order.h"
#include "analysis/collapsed_graph.h"
#include "analysis/component.h"
#include "analysis/finding_builder.h"
#include "analysis/finding_description.h"
#include "analysis/names.h"
#include "analysis/occurrence_weights.h"
#include "analysis/owner_walk.h"
#include "analysis/retained_size.h"
#include "analysis/shared_storages.h"
#include "analysis/shortest_cycle.h"
#include "analysis/signature.h"
#include "base/union_find.h"
#include "model/mistake.h"

namespace cyclewatch::analysis {
namespace {

CollapsedGraph canonical_graph(const model::Observation& observation, bool collectable) {
    IndexSet<model::NodeId> owners(observation.graph.nodes.size());
    for (const model::DeviceOwner& owner : observation.owners) {
        owners.insert(owner.node);
    }
    CollapsedGraph graph = collapse(observation.graph, owners);
    graph.collectable = collectable;
    IndexedVector<NodeIx, std::uint64_t> weight(graph.size(), 0);
    for (const model::DeviceOwner& owner : observation.owners) {
        weight[graph.node_of(owner)] += observation.storage_of(owner).bytes + 1;
    }
    canonicalize(graph, weight);
    return graph;
}

// The components to report, sorted by retained bytes (descending), then by colour (see
// canonical_order.h).
std::vector<ComponentIx> reported_components(const CollapsedGraph& graph,
                                             const Components& components,
                                             const RetainedSize& retained) {
    IndexedVector<ComponentIx, std::uint64_t> color(components.count(), 0);
    for (const NodeIx node : graph.all_nodes()) {
        color[components.of[node]] += graph.color[node];
    }
    std::vector<ComponentIx> reported;
    for (const ComponentIx c : components.all()) {
        if (components.cyclic[c] && retained.leads_to_released(c)) {
            reported.push_back(c);
        }
    }
    std::ranges::stable_sort(
        reported, {}, [&](ComponentIx c) { return std::tuple(~retained.held_by(c), color[c]); });
    return reported;
}

// Merges builders whose findings share a model::mistake_keys() entry, directly or transitively
// (union-find). The builder that comes first in the order of model::ranks_before() absorbs the
// others and keeps its description. Returns the new index of each builder. Must be called once,
// after all occurrences have been counted and before attribute_shared_storages().
IndexedVector<FindingIx, FindingIx> merge_findings(Builders& builders) {
    base::UnionFind groups(builders.size());
    std::unordered_map<std::string, std::uint32_t> with_key;
    for (const FindingIx b : builders.indexes()) {
        const auto number = static_cast<std::uint32_t>(b);
        for (std::string& key : model::mistake_keys(builders[b].finding())) {
            groups.unite(number, with_key.try_emplace(std::move(key), number).first->second);
        }
    }
    IndexedVector<FindingIx, FindingIx> index(builders.size());
    Builders merged;
    std::unordered_map<std::uint32_t, FindingIx> merged_of;  // by root
    for (const FindingIx b : ranked(builders)) {
        const auto [entry, fresh] =
            merged_of.try_emplace(groups.find(static_cast<std::uint32_t>(b)), merged.end_index());
        index[b] = entry->second;
        if (fresh) {
            merged.push_back(std::move(builders[b]));
        } else {
            merged[entry->second].absorb(std::move(builders[b]));
        }
    }
    builders = std::move(merged);
    return index;
}

// Limits the number of nodes and references visited in the search for payload references (see
// payload.h), because the same objects may be reachable from many components.
constexpr std::uint64_t kPayloadPasses = 16;
constexpr std::uint64_t kSpareWork = 1'000'000;

class Analysis {
  public:
    Analysis(const model::Observation& observation, bool collectable)
        : observation_(observation),
          graph_(canonical_graph(observation_, collectable)),
          components_(graph::strong_components(graph_)),
          retained_(graph_, components_, observation_),
          walk_(graph_, observation_, retained_),
          payload_work_left_(kPayloadPasses * (graph_.size() + graph_.edges.size()) + kSpareWork),
          cuts_payload_(components_.count()),
          builder_of_component_(components_.count(), kNone) {}

    std::vector<model::Finding> run() {
        const IndexedVector<ComponentIx, Weight> weights =
            weigh_components(graph_, components_, retained_, observation_);
        ComponentExtractor extractor(graph_, components_, retained_);
        for (const ComponentIx c : reported_components(graph_, components_, retained_)) {
            add(extractor.extract(c), weights[c]);
        }
        return finish();
    }

  private:
    void add(const Component& component, const Weight& weight) {
        const Cycle cycle = choose_cycle(component);
        const std::vector<EdgeIx> edges = collapsed_edges(component, cycle);
        const bool walked = walk_.walk(edges);
        if (walked && is_secondary(component, cycle)) {
            return;
        }
        const auto [entry, fresh] =
            builder_of_.try_emplace(signature_of(graph_, edges), builders_.end_index());
        const auto description = [&] {
            return describe(component, cycle, retained_, observation_, walk_, payload_work_left_);
        };
        if (fresh) {
            model::Finding finding = description();
            finding.signature = entry->first;
            builders_.push_back(
                FindingBuilder(std::move(finding), component, observation_, retained_));
        }
        FindingBuilder& builder = builders_[entry->second];
        if (builder.may_need_more_cuts(component)) {
            builder.describe_again(description(), component);
        }
        builder.count(component, walked, walk_, weight);
        if (!builder.is_cut_of_cycle()) {
            cuts_payload_.insert(component.index);
        }
        builder_of_component_[component.index] = entry->second;
    }

    // True if user code cannot avoid `cycle`, and other cycles retain all memory that is reachable
    // from `cycle`. Examples are a cycle inside a library and the cycle that Python creates with
    // every class. Exception: false if `cycle` contains a class, and the fix suggested for one of
    // the other cycles breaks only the other cycle. The class would still keep the memory alive.
    [[nodiscard]] bool is_secondary(const Component& component, const Cycle& cycle) const {
        bool of_class = false;
        for (const InnerEdgeIx e : cycle) {
            const NodeIx holder = component.holder_node(e);
            const bool is_class = graph_.is(holder, model::NodeKind::type);
            of_class = of_class || is_class;
            if (!component.structural.contains(e) && !is_class && may_be_users(graph_, holder)) {
                return false;
            }
        }
        return retained_.held_by(component.index) == 0 &&
               std::ranges::all_of(walk_.owners(), [&](const ReachedOwner& reached) {
                   const ComponentIx keeper =
                       retained_.keeper_of(retained_.storage_of(reached.owner));
                   return keeper != kNone && (!of_class || cuts_payload_.contains(keeper));
               });
    }

    std::vector<model::Finding> finish() {
        const IndexedVector<FindingIx, FindingIx> merged = merge_findings(builders_);
        for (FindingIx& builder : builder_of_component_) {
            builder = builder == kNone ? kNone : merged[builder];
        }
        attribute_shared_storages(builders_, builder_of_component_, retained_, observation_);
        std::vector<model::Finding> findings;
        for (FindingBuilder& builder : builders_) {
            findings.push_back(builder.finish());
        }
        std::sort(findings.begin(), findings.end(), model::ranks_before);
        return findings;
    }

    const model::Observation& observation_;
    CollapsedGraph graph_;
    Components components_;
    RetainedSize retained_;
    OwnerWalk walk_;
    std::uint64_t payload_work_left_;
    IndexSet<ComponentIx> cuts_payload_;
    IndexedVector<ComponentIx, FindingIx> builder_of_component_;  // or kNone
    std::unordered_map<std::string, FindingIx> builder_of_;       // by signature
    Builders builders_;
};

}  // namespace

std::vector<model::Finding> analyze(const model::Observation& observation, bool collectable) {
    if (observation.owners.empty()) {
        return {};
    }
    return Analysis(observation, collectable).run();
}

}  // namespace cyclewatch::analysis
