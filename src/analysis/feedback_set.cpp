// SPDX-License-Identifier: Apache-2.0
#include "analysis/feedback_set.h"

#include <algorithm>
#include <utility>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostKinds = 6;

bool is_programs(const Component& component, const InnerCandidate& candidate) {
    const EdgeIx edge = component.edges[candidate.edges.front()];
    const std::optional<Origin> origin =
        origin_of_location(component.graph, edge, candidate.keeper);
    return origin ? *origin == Origin::user : is_attribute(component.graph, edge);
}

}  // namespace

std::vector<InnerCandidate> find_feedback_set(const Component& component,
                                              const Cycle& cycle,
                                              bool only_programs) {
    std::vector<InnerCandidate> chosen;
    IndexSet<InnerEdgeIx> dead(component.edges.size());
    for (Cycle remaining = cycle;; remaining = choose_cycle(component, dead)) {
        std::vector<InnerCandidate> ranked = rank_cycle(component, remaining);
        std::erase_if(ranked, [&](const InnerCandidate& candidate) {
            return only_programs && !is_programs(component, candidate);
        });
        if (ranked.empty() || ranked.front().score < patterns::kWorthCutting) {
            return {};
        }
        const ReferenceKind kind = kind_of(component, ranked.front().edges.front());
        const auto same = std::ranges::find_if(chosen, [&](const InnerCandidate& other) {
            return kind_of(component, other.edges.front()) == kind;
        });
        if (same == chosen.end()) {
            if (chosen.size() == kMostKinds) {
                return {};
            }
            chosen.push_back(widened(component, std::move(ranked.front()), false));
            dead.insert(chosen.back().edges);
        } else {
            // One code change probably removes all references of this kind.
            *same = widened(component, std::move(*same), true);
            dead.insert(same->edges);
        }
        if (!still_holds(component, dead)) {
            break;
        }
    }
    WorkLimit unlimited(component, UINT64_MAX);
    drop_needless(chosen, component, unlimited);
    return chosen;
}

}  // namespace cyclewatch::analysis
