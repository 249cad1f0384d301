// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyze.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analysis/canonical_order.h"
#include "analysis/collapsed_graph.h"
#include "analysis/component.h"
#include "analysis/finding_builder.h"
#include "analysis/merge_findings.h"
#include "analysis/occurrence_weights.h"
#include "analysis/origin.h"
#include "analysis/owner_walk.h"
#include "analysis/representatives.h"
#include "analysis/retained_size.h"
#include "analysis/shared_storages.h"
#include "analysis/shortest_cycle.h"
#include "analysis/signature.h"
#include "analysis/strong_components.h"

namespace cyclewatch::analysis {
namespace {

std::vector<char> owner_nodes(const Representatives& representatives) {
    std::vector<char> is_owner(representatives.graph.nodes.size(), 0);
    for (const model::DeviceOwner& owner : representatives.owners) {
        is_owner[index_of(owner.node)] = 1;
    }
    return is_owner;
}

CollapsedGraph ordered_graph(const Representatives& representatives,
                             const std::vector<char>& is_owner) {
    CollapsedGraph graph = collapse(representatives.graph, is_owner, representatives.copies);
    std::vector<std::uint64_t> weight(graph.nodes(), 0);
    for (const model::DeviceOwner& owner : representatives.owners) {
        weight[graph.collapsed_of[index_of(owner.node)]] +=
            representatives.storages[index_of(owner.storage)].bytes + 1;
    }
    put_in_order(graph, weight);
    return graph;
}

// The components to report, largest first; equally large ones by what they consist of.
std::vector<std::uint32_t> reported_components(const CollapsedGraph& graph,
                                               const StrongComponents& components,
                                               const RetainedSize& held) {
    std::vector<std::uint64_t> color(components.count(), 0);
    std::vector<bool> leads(components.count(), false);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        color[components.of[node]] += graph.color[node];
        leads[components.of[node]] = held.leads_to_released(node);
    }
    std::vector<std::uint32_t> reported;
    for (std::uint32_t c = 0; c < components.count(); ++c) {
        if (components.cyclic[c] && leads[c]) {
            reported.push_back(c);
        }
    }
    std::stable_sort(reported.begin(), reported.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(held.held_by(b), color[a]) < std::tuple(held.held_by(a), color[b]);
    });
    return reported;
}

// Many components may lead to the same objects.
constexpr std::uint64_t kPayloadPasses = 16;
constexpr std::uint64_t kSpareWork = 1'000'000;

class Analysis {
  public:
    explicit Analysis(const model::Observation& observation)
        : representatives_(choose_representatives(observation)),
          is_owner_(owner_nodes(representatives_)),
          graph_(ordered_graph(representatives_, is_owner_)),
          components_(strong_components(graph_.view())),
          held_(graph_, components_, representatives_),
          walk_(graph_, representatives_),
          payload_work_left_(kPayloadPasses * (graph_.nodes() + graph_.edges.size()) + kSpareWork),
          lets_go_(components_.count(), false),
          builder_of_component_(components_.count(), kNone) {}

    std::vector<model::Finding> run() {
        std::vector<char> owns(graph_.nodes(), 0);
        for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
            owns[node] = is_owner_[graph_.raw_node[node]];
        }
        const std::vector<Weight> weights =
            weigh_components(graph_, components_, held_, representatives_);
        ComponentCutter cutter(graph_, components_, held_, owns);
        for (const std::uint32_t c : reported_components(graph_, components_, held_)) {
            add(c, cutter.cut_out(c), weights[c]);
        }
        return finish();
    }

  private:
    void add(std::uint32_t c, const Component& component, const Weight& weight) {
        const std::uint64_t retained_bytes = held_.held_by(c);
        const Cycle cycle = choose_cycle(graph_, component);
        std::vector<std::uint32_t> edges;
        for (const std::uint32_t e : cycle) {
            edges.push_back(component.edges[e]);
        }
        const bool walked = walk_.walk(edges);
        if (walked && is_bystander(c, component, cycle)) {
            return;
        }
        std::string signature = signature_of(graph_, edges);
        const auto [entry, fresh] =
            builder_of_.try_emplace(signature, static_cast<std::uint32_t>(builders_.size()));
        if (fresh) {
            FindingBuilder builder(graph_, representatives_, held_);
            builder.describe(component,
                             payload_work_left_,
                             cycle,
                             edges,
                             std::move(signature),
                             retained_bytes,
                             walk_);
            entry->second = keep(std::move(builder), retained_bytes > 0);
        }
        builders_[entry->second].compare(component);
        builders_[entry->second].count(c, retained_bytes, walked, walk_, weight);
        lets_go_[c] = !builders_[entry->second].is_cut_of_cycle();
        builder_of_component_[c] = entry->second;
    }

    // Returns where it stands in builders_. Cycles of classes that keep nothing `alone` and lead to
    // the same memory by the same references, which are all there is to drop, are one mistake:
    // classes that share a variable, and one that @dataclass(slots=True) has put another in place
    // of. They go by the name of one of them.
    std::uint32_t keep(FindingBuilder&& builder, bool alone) {
        const auto last = static_cast<std::uint32_t>(builders_.size());
        if (!alone && !builder.payload_edges().empty()) {
            const auto [entry, fresh] =
                builder_of_payload_.try_emplace(builder.payload_edges(), last);
            if (!fresh) {
                FindingBuilder& twin = builders_[entry->second];
                if (builder.signature() < twin.signature()) {
                    twin.take_words(std::move(builder));
                }
                return entry->second;
            }
        }
        builders_.push_back(std::move(builder));
        return last;
    }

    // True for a cycle that keeps nothing, only leads to what other cycles keep, and is none that
    // the user's code could leave out: one that is all in a library; or a class's own, as of the
    // subclass of a class made on each call, where the others are told to drop the memory and not
    // to end their cycle, which this class would go on to keep.
    [[nodiscard]] bool is_bystander(std::uint32_t c,
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
        return held_.held_by(c) == 0 &&
               std::ranges::all_of(walk_.owners(), [&](const ReachedOwner& reached) {
                   const std::uint32_t keeper =
                       held_.keeper_of(representatives_.owners[reached.owner].storage);
                   return keeper != kNone && (!of_class || lets_go_[keeper]);
               });
    }

    std::vector<model::Finding> finish() {
        const std::vector<std::uint32_t> merged = merge_findings(builders_);
        for (std::uint32_t& builder : builder_of_component_) {
            builder = builder == kNone ? kNone : merged[builder];
        }
        settle_shared_storages(builders_, builder_of_component_, held_, representatives_);
        std::vector<model::Finding> findings;
        for (FindingBuilder& builder : builders_) {
            findings.push_back(builder.finish());
        }
        std::sort(findings.begin(), findings.end(), model::ranks_before);
        return findings;
    }

    Representatives representatives_;
    std::vector<char> is_owner_;  // per raw node
    CollapsedGraph graph_;
    StrongComponents components_;
    RetainedSize held_;
    OwnerWalk walk_;
    std::uint64_t payload_work_left_;  // nodes and references
    std::vector<bool> lets_go_;        // per component: it is told to drop the memory
    std::vector<std::uint32_t> builder_of_component_;            // or kNone
    std::unordered_map<std::string, std::uint32_t> builder_of_;  // by signature
    std::map<std::vector<std::uint32_t>, std::uint32_t> builder_of_payload_;
    std::vector<FindingBuilder> builders_;
};

}  // namespace

std::vector<model::Finding> analyze(const model::Observation& observation) {
    if (observation.owners.empty()) {
        return {};
    }
    return Analysis(observation).run();
}

}  // namespace cyclewatch::analysis
