// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "analysis/back_references.h"
#include "analysis/equivalent_references.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/origin.h"
#include "analysis/payload.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostAlternatives = 3;
constexpr std::uint64_t kMostWork = 2'000'000;  // nodes and references looked at, all checks

class Search {
  public:
    Search(const CollapsedGraph& graph,
           const Component& component,
           const RetainedSize& held,
           std::uint64_t& work_left)
        : graph_(graph),
          component_(component),
          held_(held),
          work_left_(work_left),
          dead_(component.targets.size(), 0),
          checks_left_(4 + kMostWork / (component.size() + component.targets.size())) {}

    Cut run(const Cycle& cycle) {
        Cut result;
        const std::vector<Candidate> ranked = rank_cycle(graph_, component_, cycle);
        const std::vector<Candidate> enough = those_enough(ranked);
        const Payloads found = find_payloads(graph_, component_, cycle, held_);
        const std::vector<Candidate>& payloads = found.single;
        if (use_back_references(result, cycle, enough)) {
            // An item of a list is what somebody put there to be found.
            std::ranges::copy_if(
                enough, std::back_inserter(result.alternatives), [](const Candidate& candidate) {
                    return candidate.evidence != &patterns::kItem;
                });
        } else if (enough.empty()) {
            result.cut = best_of(ranked);
        } else {
            result.cut = {enough.front()};
            result.alternatives.assign(enough.begin() + 1, enough.end());
        }
        prefer_payload_to_no_advice(result, found);
        prefer_own_payload_to_foreign_cycle(result, cycle, payloads);
        for (const Candidate& payload : payloads) {
            if (result.cut.empty() || result.cut.front().edges != payload.edges) {
                result.alternatives.push_back(payload);
            }
        }
        result.alternatives.resize(std::min(result.alternatives.size(), kMostAlternatives));
        result.of_class = found.of_class;
        if (result.cut.empty() && found.of_class) {
            result.without_cut = &patterns::kClassOnEachCall;
        }
        result.freed_share = freed_share(result.cut);
        result.tie = result.cut.size() == 1 && !result.alternatives.empty() &&
                     is_tie(result.cut.front(), result.alternatives.front());
        return result;
    }

  private:
    [[nodiscard]] static bool is_tie(const Candidate& first, const Candidate& second) {
        return first.payload == second.payload &&
               (first.score - second.score <= patterns::kTieMargin ||
                patterns::only_names_tell(*first.evidence, *second.evidence));
    }

    // Those of `ranked` that end all cycles, as finished candidates: alone if that is enough, else
    // with all of their kind.
    std::vector<Candidate> those_enough(const std::vector<Candidate>& ranked) {
        std::vector<Candidate> enough;
        for (const Candidate& candidate : ranked) {
            if (enough.size() > kMostAlternatives || candidate.score < patterns::kWorthCutting) {
                break;
            }
            if (already_part_of(enough, candidate)) {
                continue;
            }
            Candidate widened = candidate;
            single_item(widened);
            if (!ends_all(widened)) {
                widened = candidate;
                all_alike(widened);
                if (widened.equivalent == 1 || !ends_all(widened)) {
                    continue;
                }
            }
            enough.push_back(finish(std::move(widened)));
        }
        return enough;
    }

    bool ends_all(const Candidate& candidate) {
        mark(candidate, 1);
        const bool ends = !holds_still();
        mark(candidate, 0);
        return ends;
    }

    // One reference; with it all that go through the same variable, which is one thing to empty.
    void single_item(Candidate& candidate) {
        const std::uint32_t edge = candidate.edges.front();
        if (collapsed(edge).cell == kNone) {
            return;
        }
        for (const std::uint32_t e : equivalent().through_cell(edge)) {
            if (e != edge) {
                candidate.edges.push_back(e);
            }
        }
        note_variable(candidate, graph_, component_.edges[edge]);
    }

    // All references that one line of code makes again and again.
    void all_alike(Candidate& candidate) {
        const std::uint32_t edge = candidate.edges.front();
        single_item(candidate);
        const std::uint32_t cell = collapsed(edge).cell;
        for (const std::uint32_t e : equivalent().of_kind(edge)) {
            const bool listed = e == edge || (cell != kNone && collapsed(e).cell == cell);
            if (!listed) {
                candidate.edges.push_back(e);
                ++candidate.equivalent;
            }
        }
    }

    // Most components need it never: their cycle has a reference that is enough.
    const EquivalentReferences& equivalent() {
        if (!equivalent_) {
            equivalent_.emplace(graph_, component_);
        }
        return *equivalent_;
    }

    // The best reference of the cycle, if nothing is known to end all of them.
    std::vector<Candidate> best_of(const std::vector<Candidate>& ranked) {
        if (ranked.empty() || ranked.front().score < patterns::kWorthCutting) {
            return {};
        }
        Candidate best = ranked.front();
        all_alike(best);
        best.enough = false;
        return {finish(std::move(best))};
    }

    // True for a reference that only its counterpart could stand in for.
    static bool is_mutual(const Candidate& single) { return single.evidence == &patterns::kMutual; }
    static bool is_clear(const Candidate& single) {
        return !is_mutual(single) && single.score >= patterns::kOneOfSeveral;
    }
    static bool is_better(const BackReferences& back, const Candidate& single) {
        return back.score >= single.score + (is_mutual(single) ? patterns::kClearer : 0);
    }

    // The references that lead back to one owner, if no single reference is as clear.
    bool use_back_references(Cut& result,
                             const Cycle& cycle,
                             const std::vector<Candidate>& enough) {
        if (!enough.empty() && is_clear(enough.front())) {
            return false;
        }
        BackReferences back = find_back_references(graph_, component_, cycle, equivalent());
        if (back.kinds.empty() || (!enough.empty() && !is_better(back, enough.front()))) {
            return false;
        }
        for (Candidate& kind : back.kinds) {
            result.references += kind.equivalent;
            result.cut.push_back(finish(std::move(kind)));
        }
        result.owner = back.owner;
        return true;
    }

    // "Cut the class's own __mro__" helps nobody: then the memory is what can be taken away.
    void prefer_payload_to_no_advice(Cut& result, const Payloads& payloads) {
        if (!result.cut.empty() && result.cut.front().enough) {
            return;
        }
        std::vector<Candidate> instead;
        if (payloads.single.empty()) {
            instead =
                find_last_references(graph_, component_, held_, payloads.of_class, work_left_);
        } else {
            instead = {payloads.single.front()};
        }
        if (!instead.empty()) {
            result.cut = std::move(instead);
        }
    }

    // References on the cycle free what no other cycle leads to as well; and if cycles are left,
    // nobody knows how much.
    [[nodiscard]] double freed_share(const std::vector<Candidate>& cut) const {
        double share = 0;
        for (const Candidate& candidate : cut) {
            if (!candidate.payload) {
                return candidate.enough ? held_.freed_with(component_.nodes.front()) : 0;
            }
            share += candidate.share;
        }
        return std::min(1.0, share);
    }

    // Nobody can change a cycle that is all inside a library, but everybody can change what their
    // own callable captures before they hand it over.
    void prefer_own_payload_to_foreign_cycle(Cut& result,
                                             const Cycle& cycle,
                                             const std::vector<Candidate>& payloads) const {
        const bool own_cycle = std::any_of(cycle.begin(), cycle.end(), [this](std::uint32_t e) {
            return may_be_users(graph_, collapsed(e).holder);
        });
        if (own_cycle || payloads.empty() || result.cut.empty() || result.cut.front().payload) {
            return;
        }
        Candidate payload = payloads.front();
        const CollapsedEdge& edge = graph_.edges[payload.edges.front()];
        if (edge.label.kind != model::EdgeKind::closure ||
            origin_of(graph_, edge.holder) != Origin::user) {
            return;
        }
        if (result.cut.size() == 1) {
            result.alternatives.insert(result.alternatives.begin(), result.cut.front());
        }
        result.owner = kNone;
        payload.evidence = &patterns::kPayloadOfCallable;
        result.cut = {std::move(payload)};
    }

    [[nodiscard]] bool already_part_of(const std::vector<Candidate>& finished,
                                       const Candidate& other) const {
        const std::uint32_t edge = component_.edges[other.edges.front()];
        return std::any_of(finished.begin(), finished.end(), [edge](const Candidate& candidate) {
            return std::find(candidate.edges.begin(), candidate.edges.end(), edge) !=
                   candidate.edges.end();
        });
    }

    [[nodiscard]] const CollapsedEdge& collapsed(std::uint32_t e) const {
        return graph_.edges[component_.edges[e]];
    }

    void mark(const Candidate& candidate, char dead) {
        for (const std::uint32_t e : candidate.edges) {
            dead_[e] = dead;
        }
    }

    // Out of patience counts as "still holds": a cut is only named when it was seen to work.
    bool holds_still() {
        if (checks_left_ == 0) {
            return true;
        }
        --checks_left_;
        return still_holds(component_, dead_);
    }

    Candidate finish(Candidate candidate) const {
        for (std::uint32_t& e : candidate.edges) {
            e = component_.edges[e];
        }
        return candidate;
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    const RetainedSize& held_;
    std::uint64_t& work_left_;
    std::optional<EquivalentReferences> equivalent_;
    std::vector<char> dead_;  // per reference of the component
    std::uint64_t checks_left_;
};

}  // namespace

void note_variable(Candidate& candidate, const CollapsedGraph& graph, std::uint32_t edge) {
    // The frames of a traceback go with the one reference to it.
    const bool variable = graph.is_through_variable(edge);
    candidate.shared_cell = variable && candidate.edges.size() > 1;
    candidate.equivalent = variable ? candidate.edges.size() : 1;
}

Cut choose_cut(const CollapsedGraph& graph,
               const Component& component,
               const Cycle& cycle,
               const RetainedSize& held,
               std::uint64_t& work_left) {
    return Search(graph, component, held, work_left).run(cycle);
}

}  // namespace cyclewatch::analysis
