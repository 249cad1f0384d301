// SPDX-License-Identifier: Apache-2.0
#include "analysis/payload.h"

#include <algorithm>

#include "analysis/names.h"
#include "analysis/pattern_table.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostPayloads = 2;

struct Payload {
    std::uint32_t edge;
    std::uint64_t bytes;
};

// The one reference out of `node` that frees most; bytes 0: there is none.
Payload heaviest_reference(const LogicalGraph& graph, std::uint32_t node, const HeldBytes& held) {
    Payload best{kNone, 0};
    bool alone = true;  // no second reference leads to the same memory
    for (std::uint32_t e = graph.first[node]; e < graph.first[node + 1]; ++e) {
        const std::uint64_t bytes = held.kept_through(node, graph.targets[e]);
        if (bytes > best.bytes) {
            best = {e, bytes};
            alone = true;
        } else if (bytes > 0 && held.same_component(graph.targets[e], graph.targets[best.edge])) {
            alone = false;
        }
    }
    return alone && best.bytes > 0 && !graph.edges[best.edge].structural ? best : Payload{kNone, 0};
}

// True if what a reference leads to is not what a reader thinks of as data: the data has to be
// sought further down, and so has the place where it is captured.
bool leads_to_code(const LogicalGraph& graph, std::uint32_t edge) {
    switch (graph.node(graph.targets[edge]).kind) {
        case model::NodeKind::type:
        case model::NodeKind::property:
        case model::NodeKind::frame:
        case model::NodeKind::function:
        case model::NodeKind::traceback:
            return true;
        default:
            return false;
    }
}

Candidate to_candidate(const LogicalGraph& graph, std::uint32_t edge) {
    Candidate candidate;
    candidate.edges = {edge};
    candidate.evidence = &payload_evidence_of(graph, edge);
    candidate.score = candidate.evidence->weight;
    candidate.payload = true;
    return candidate;
}

}  // namespace

std::vector<Candidate> payload_candidates(const LogicalGraph& graph,
                                          const Component& component,
                                          const Loop& loop,
                                          const HeldBytes& held) {
    std::uint64_t total = 0;
    for (const std::uint32_t e : loop) {
        total += component.kept[component.holder[e]];
    }
    std::vector<Payload> found;
    for (const std::uint32_t e : loop) {
        const std::uint32_t node = component.nodes[component.holder[e]];
        Payload payload = heaviest_reference(graph, node, held);
        while (payload.bytes > 0 && leads_to_code(graph, payload.edge)) {
            const Payload further = heaviest_reference(graph, graph.targets[payload.edge], held);
            if (further.bytes * 2 < payload.bytes) {
                break;
            }
            payload = further;
        }
        if (payload.bytes > 0 && payload.bytes >= total - total / 2) {
            found.push_back(payload);
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const Payload& a, const Payload& b) {
        return a.bytes > b.bytes;
    });
    found.resize(std::min(found.size(), kMostPayloads));
    std::vector<Candidate> candidates;
    candidates.reserve(found.size());
    for (const Payload& payload : found) {
        candidates.push_back(to_candidate(graph, payload.edge));
    }
    return candidates;
}

}  // namespace cyclewatch::analysis
