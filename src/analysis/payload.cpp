// SPDX-License-Identifier: Apache-2.0
#include "analysis/payload.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "analysis/names.h"
#include "analysis/pattern_table.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostPayloads = 2;
constexpr std::size_t kFarthestDescent = 32;  // functions inside functions inside functions

struct Payload {
    std::vector<std::uint32_t> edges;  // one reference, or all through one variable
    std::uint64_t bytes = 0;
};

// The references that each free something, from the nodes of one loop on.
class Search {
  public:
    Search(const LogicalGraph& graph, const HeldBytes& held) : graph_(graph), held_(held) {}

    // What hangs on `node`, heaviest first.
    std::vector<Payload> hanging_on(std::uint32_t node) {
        return references_of(node, kFarthestDescent);
    }

  private:
    std::vector<Payload> references_of(std::uint32_t node, std::size_t descent) {
        std::vector<Payload> found;
        for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
            const std::uint64_t bytes = held_.kept_through(node, graph_.targets[e]);
            if (bytes > 0) {
                add(found, e, bytes, descent);
            }
        }
        std::ranges::stable_sort(found, std::greater{}, &Payload::bytes);
        return found;
    }

    // The reference itself; or what hangs on its target, if people do not think of that as data
    // and one reference there does at least half as well.
    void add(std::vector<Payload>& found,
             std::uint32_t edge,
             std::uint64_t bytes,
             std::size_t descent) {
        const std::uint32_t target = graph_.targets[edge];
        if (descent > 0 && leads_to_code(graph_, edge) && seen_.insert(target).second) {
            std::vector<Payload> further = references_of(target, descent - 1);
            if (!further.empty() && further.front().bytes >= bytes - bytes / 2) {
                std::ranges::move(further, std::back_inserter(found));
                return;
            }
        }
        // Nobody drops a layer of their model.
        if (held_.has_one_way(target) && !graph_.edges[edge].structural &&
            !graph_.is_child_of_module(edge)) {
            found.push_back({{edge}, bytes});
        }
    }

    const LogicalGraph& graph_;
    const HeldBytes& held_;
    std::unordered_set<std::uint32_t> seen_;  // nodes that were descended into
};

Candidate to_candidate(const LogicalGraph& graph,
                       std::vector<std::uint32_t> edges,
                       double share,
                       bool of_class) {
    Candidate candidate;
    candidate.edges = std::move(edges);
    candidate.evidence = &payload_evidence_of(graph, candidate.edges.front(), of_class);
    candidate.score = candidate.evidence->weight;
    note_variable(candidate, graph, candidate.edges.front());
    candidate.payload = true;
    candidate.share = share;
    return candidate;
}

// `held`: bytes that the component keeps. `of_class`: a class is on the loop.
std::vector<Candidate> to_candidates(const LogicalGraph& graph,
                                     std::vector<Payload> payloads,
                                     std::uint64_t held,
                                     bool of_class) {
    std::vector<Candidate> candidates;
    for (Payload& payload : payloads) {
        const double share = static_cast<double>(payload.bytes) / static_cast<double>(held);
        candidates.push_back(to_candidate(graph, std::move(payload.edges), share, of_class));
    }
    return candidates;
}

// The fewest that free half of `total` together; empty if more than kMostInSet would be needed.
std::vector<Payload> fewest(std::vector<Payload> payloads, std::uint64_t total) {
    std::ranges::stable_sort(payloads, std::greater{}, &Payload::bytes);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < std::min(payloads.size(), kMostInSet); ++i) {
        bytes += payloads[i].bytes;
        if (bytes >= total - total / 2) {
            payloads.resize(i + 1);
            return payloads;
        }
    }
    return {};
}

}  // namespace

bool leads_to_code(const LogicalGraph& graph, std::uint32_t edge) {
    const std::uint32_t target = graph.targets[edge];
    switch (graph.node(target).kind) {
        case model::NodeKind::type:
        case model::NodeKind::property:
        case model::NodeKind::frame:
        case model::NodeKind::function:
        case model::NodeKind::traceback:
            return true;
        case model::NodeKind::object:
            // cached_property, lru_cache() and what functools.wraps() marks.
            if (graph.raw->text(graph.node(target).name).starts_with("functools.")) {
                return true;
            }
            for (std::uint32_t e = graph.first[target]; e < graph.first[target + 1]; ++e) {
                if (graph.label_name(e) == "__wrapped__") {
                    return true;
                }
            }
            return false;
        default:
            return false;
    }
}

Payloads find_payloads(const LogicalGraph& graph,
                       const Component& component,
                       const Loop& loop,
                       const HeldBytes& held) {
    Payloads payloads;
    payloads.of_class = std::ranges::any_of(loop, [&](std::uint32_t e) {
        return graph.is(component.nodes[component.holder[e]], model::NodeKind::type);
    });
    Search search(graph, held);
    std::vector<Payload> heaviest;  // of each node of the loop
    std::vector<Payload> all;
    for (const std::uint32_t e : loop) {
        std::vector<Payload> hanging = search.hanging_on(component.nodes[component.holder[e]]);
        if (!hanging.empty()) {
            heaviest.push_back(hanging.front());
        }
        std::ranges::move(hanging, std::back_inserter(all));
    }
    const std::uint32_t of_loop = component.nodes[component.holder[loop.front()]];
    for (SharedVariable& variable : held.variables_of(of_loop)) {
        all.push_back({std::move(variable.edges), variable.bytes});
        heaviest.push_back(all.back());
    }
    const std::uint64_t total = held.held_with(of_loop);
    std::erase_if(heaviest, [total](const Payload& p) { return p.bytes < total - total / 2; });
    std::ranges::stable_sort(heaviest, {}, [&](const Payload& p) {
        return std::pair(~p.bytes, leads_to_code(graph, p.edges.front()));
    });
    heaviest.resize(std::min(heaviest.size(), kMostPayloads));
    payloads.single = to_candidates(graph, std::move(heaviest), total, payloads.of_class);
    if (payloads.single.empty()) {
        payloads.set =
            to_candidates(graph, fewest(std::move(all), total), total, payloads.of_class);
    }
    return payloads;
}

std::vector<Candidate> find_joint_payload(const LogicalGraph& graph,
                                          const Component& component,
                                          MemoryCutter& cutter,
                                          bool of_class) {
    MemoryCut cut = cutter.find(component, kMostInSet);
    const auto text = [&](std::uint32_t edge) {
        return full_name(graph, graph.edges[edge].holder) + " " + label_of(graph, edge);
    };
    for (std::vector<std::uint32_t>& edges : cut.items) {
        std::ranges::stable_sort(edges, {}, text);
    }
    // What somebody wrote comes before what Python made of it, as a dataclass's table of fields.
    std::ranges::stable_sort(cut.items, {}, [&](const std::vector<std::uint32_t>& edges) {
        return std::tuple(is_container(graph, graph.edges[edges.front()].holder),
                          graph.label_name(edges.front()).starts_with('_'),
                          text(edges.front()));
    });
    std::vector<Candidate> candidates;
    const double share = cut.share / static_cast<double>(cut.items.size());
    for (std::vector<std::uint32_t>& edges : cut.items) {
        candidates.push_back(to_candidate(graph, std::move(edges), share, of_class));
    }
    return candidates;
}

}  // namespace cyclewatch::analysis
