// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyze.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/canonical_order.h"
#include "analysis/collapsed_graph.h"
#include "analysis/component.h"
#include "analysis/finding_builder.h"
#include "analysis/names.h"
#include "analysis/occurrence_weights.h"
#include "analysis/owner_walk.h"
#include "analysis/retained_size.h"
#include "analysis/shared_storages.h"
#include "analysis/shortest_cycle.h"
#include "analysis/signature.h"
#include "base/union_find.h"
#include "graph/strong_components.h"
#include "model/mistake.h"

namespace cyclewatch::analysis {
namespace {

std::vector<char> owner_nodes(const model::Observation& observation) {
    std::vector<char> is_owner(observation.graph.nodes.size(), 0);
    for (const model::DeviceOwner& owner : observation.owners) {
        is_owner[index_of(owner.node)] = 1;
    }
    return is_owner;
}

CollapsedGraph canonical_graph(const model::Observation& observation,
                               const std::vector<char>& is_owner,
                               bool collectable) {
    CollapsedGraph graph = collapse(observation.graph, is_owner);
    graph.collectable = collectable;
    std::vector<std::uint64_t> weight(graph.nodes(), 0);
    for (const model::DeviceOwner& owner : observation.owners) {
        weight[graph.collapsed_of[index_of(owner.node)]] +=
            observation.storages[index_of(owner.storage)].bytes + 1;
    }
    canonicalize(graph, weight);
    return graph;
}

// The components to report, sorted by retained bytes (descending), then by colour (see
// canonical_order.h).
std::vector<std::uint32_t> reported_components(const CollapsedGraph& graph,
                                               const graph::StrongComponents& components,
                                               const RetainedSize& retained) {
    std::vector<std::uint64_t> color(components.count(), 0);
    std::vector<bool> leads(components.count(), false);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        color[components.of[node]] += graph.color[node];
        leads[components.of[node]] = retained.leads_to_released(node);
    }
    std::vector<std::uint32_t> reported;
    for (std::uint32_t c = 0; c < components.count(); ++c) {
        if (components.cyclic[c] && leads[c]) {
            reported.push_back(c);
        }
    }
    std::stable_sort(reported.begin(), reported.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(retained.held_by(b), color[a]) <
               std::tuple(retained.held_by(a), color[b]);
    });
    return reported;
}

// Merges builders whose findings share a model::mistake_keys() entry, directly or transitively
// (union-find). The builder that comes first in the order of model::ranks_before() absorbs the
// others and keeps its description. Returns the new index of each builder. Must be called once,
// after all occurrences have been counted and before attribute_shared_storages().
std::vector<std::uint32_t> merge_findings(std::vector<FindingBuilder>& builders) {
    base::UnionFind groups(builders.size());
    std::unordered_map<std::string, std::uint32_t> with_key;
    for (std::uint32_t b = 0; b < builders.size(); ++b) {
        for (std::string& key : model::mistake_keys(builders[b].finding())) {
            groups.unite(b, with_key.try_emplace(std::move(key), b).first->second);
        }
    }
    std::vector<std::uint32_t> order(builders.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        return model::ranks_before(builders[a].finding(), builders[b].finding());
    });
    std::vector<std::uint32_t> index(builders.size());
    std::vector<FindingBuilder> merged;
    std::unordered_map<std::uint32_t, std::uint32_t> merged_of;  // by root
    for (const std::uint32_t b : order) {
        const auto [entry, fresh] =
            merged_of.try_emplace(groups.find(b), static_cast<std::uint32_t>(merged.size()));
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
          is_owner_(owner_nodes(observation_)),
          graph_(canonical_graph(observation_, is_owner_, collectable)),
          components_(graph::strong_components(graph_.view())),
          retained_(graph_, components_, observation_),
          walk_(graph_, observation_, retained_),
          payload_work_left_(kPayloadPasses * (graph_.nodes() + graph_.edges.size()) + kSpareWork),
          cuts_payload_(components_.count(), false),
          builder_of_component_(components_.count(), kNone) {}

    std::vector<model::Finding> run() {
        const std::vector<Weight> weights =
            weigh_components(graph_, components_, retained_, observation_);
        ComponentExtractor extractor(graph_, components_, retained_);
        for (const std::uint32_t c : reported_components(graph_, components_, retained_)) {
            add(c, extractor.extract(c), weights[c]);
        }
        return finish();
    }

  private:
    void add(std::uint32_t c, const Component& component, const Weight& weight) {
        const std::uint64_t retained_bytes = retained_.held_by(c);
        const Cycle cycle = choose_cycle(graph_, component);
        const std::vector<std::uint32_t> edges = collapsed_edges(component, cycle);
        const bool walked = walk_.walk(edges);
        if (walked && is_secondary(c, component, cycle)) {
            return;
        }
        std::string signature = signature_of(graph_, edges);
        const auto [entry, fresh] =
            builder_of_.try_emplace(signature, static_cast<std::uint32_t>(builders_.size()));
        if (fresh) {
            FindingBuilder builder(graph_, observation_, retained_);
            builder.describe(component,
                             payload_work_left_,
                             cycle,
                             edges,
                             std::move(signature),
                             retained_bytes,
                             walk_);
            builders_.push_back(std::move(builder));
        }
        builders_[entry->second].compare(component);
        builders_[entry->second].count(c, retained_bytes, walked, walk_, weight);
        cuts_payload_[c] = !builders_[entry->second].is_cut_of_cycle();
        builder_of_component_[c] = entry->second;
    }

    // True if user code cannot avoid `cycle`, and other cycles retain all memory that is reachable
    // from `cycle`. Examples are a cycle inside a library and the cycle that Python creates with
    // every class. Exception: false if `cycle` contains a class, and the fix suggested for one of
    // the other cycles breaks only the other cycle. The class would still keep the memory alive.
    [[nodiscard]] bool is_secondary(std::uint32_t c,
                                    const Component& component,
                                    const Cycle& cycle) const {
        bool of_class = false;
        for (const std::uint32_t e : cycle) {
            const std::uint32_t holder = component.nodes[component.holder[e]];
            const bool is_class = graph_.is(holder, model::NodeKind::type);
            of_class = of_class || is_class;
            if (component.structural[e] == 0 && !is_class && may_be_users(graph_, holder)) {
                return false;
            }
        }
        return retained_.held_by(c) == 0 &&
               std::ranges::all_of(walk_.owners(), [&](const ReachedOwner& reached) {
                   const std::uint32_t keeper =
                       retained_.keeper_of(observation_.owners[reached.owner].storage);
                   return keeper != kNone && (!of_class || cuts_payload_[keeper]);
               });
    }

    std::vector<model::Finding> finish() {
        const std::vector<std::uint32_t> merged = merge_findings(builders_);
        for (std::uint32_t& builder : builder_of_component_) {
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
    std::vector<char> is_owner_;  // per raw node
    CollapsedGraph graph_;
    graph::StrongComponents components_;
    RetainedSize retained_;
    OwnerWalk walk_;
    std::uint64_t payload_work_left_;
    std::vector<bool> cuts_payload_;                             // per component
    std::vector<std::uint32_t> builder_of_component_;            // or kNone
    std::unordered_map<std::string, std::uint32_t> builder_of_;  // by signature
    std::vector<FindingBuilder> builders_;
};

}  // namespace

std::vector<model::Finding> analyze(const model::Observation& observation, bool collectable) {
    if (observation.owners.empty()) {
        return {};
    }
    return Analysis(observation, collectable).run();
}

}  // namespace cyclewatch::analysis
