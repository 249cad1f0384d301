// SPDX-License-Identifier: Apache-2.0
#include "analysis/payload.h"

#include <algorithm>
#include <functional>
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

// True if what a reference leads to is not what a reader thinks of as data: the data has to be
// sought further down, and so has the place where it is captured.
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
        if (held_.has_one_way(target) && !graph_.edges[edge].structural) {
            found.push_back({{edge}, bytes});
        }
    }

    const LogicalGraph& graph_;
    const HeldBytes& held_;
    std::unordered_set<std::uint32_t> seen_;  // nodes that were descended into
};

// `held`: bytes that the component keeps. `of_class`: a class is on the loop.
std::vector<Candidate> to_candidates(const LogicalGraph& graph,
                                     const std::vector<Payload>& payloads,
                                     std::uint64_t held,
                                     bool of_class) {
    std::vector<Candidate> candidates;
    for (const Payload& payload : payloads) {
        Candidate candidate;
        candidate.edges = payload.edges;
        candidate.evidence = &payload_evidence_of(graph, payload.edges.front(), of_class);
        candidate.score = candidate.evidence->weight;
        candidate.alike = payload.edges.size();
        candidate.shared_cell = payload.edges.size() > 1;
        candidate.payload = true;
        candidate.share = payload.bytes >= held
                              ? 1
                              : static_cast<double>(payload.bytes) / static_cast<double>(held);
        candidates.push_back(std::move(candidate));
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

Payloads find_payloads(const LogicalGraph& graph,
                       const Component& component,
                       const Loop& loop,
                       const HeldBytes& held) {
    Payloads payloads;
    payloads.of_class = std::ranges::any_of(loop, [&](std::uint32_t e) {
        return graph.is(component.nodes[component.holder[e]], model::NodeKind::type);
    });
    Search search(graph, held);
    std::uint64_t total = 0;
    std::vector<Payload> heaviest;  // of each node of the loop
    std::vector<Payload> all;
    for (const std::uint32_t e : loop) {
        const std::uint32_t node = component.nodes[component.holder[e]];
        total += component.kept[component.holder[e]];
        std::vector<Payload> hanging = search.hanging_on(node);
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
    // What hangs on several nodes of the loop at once is none of theirs.
    const std::uint64_t held_bytes = held.held_with(of_loop);
    total = std::max(total, held_bytes);
    std::erase_if(heaviest, [total](const Payload& p) { return p.bytes < total - total / 2; });
    std::ranges::stable_sort(heaviest, std::greater{}, &Payload::bytes);
    heaviest.resize(std::min(heaviest.size(), kMostPayloads));
    payloads.single = to_candidates(graph, heaviest, held_bytes, payloads.of_class);
    if (heaviest.empty()) {
        payloads.set =
            to_candidates(graph, fewest(std::move(all), total), held_bytes, payloads.of_class);
    }
    return payloads;
}

}  // namespace cyclewatch::analysis
