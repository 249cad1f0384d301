// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/back_references.h"
#include "analysis/feedback_set.h"
#include "analysis/names.h"
#include "analysis/payload.h"
#include "analysis/removable_references.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostAlternatives = 3;
constexpr std::uint64_t kMostCheckWork = 2'000'000;  // nodes and references visited by all checks

bool is_tie(const Candidate& first, const Candidate& second) {
    return first.payload == second.payload && first.score - second.score <= patterns::kTieMargin;
}

class CutSearch {
  public:
    CutSearch(const Component& component, const Cycle& cycle, const RetainedSize& held)
        : graph_(component.graph),
          component_(component),
          cycle_(cycle),
          held_(held),
          checks_left_(4 + kMostCheckWork / (component.size() + component.targets.size())) {}

    Cut run(std::uint64_t& work_left) {
        Cut result;
        const std::vector<InnerCandidate> ranked = rank_cycle(component_, cycle_);
        const std::vector<Candidate> enough = find_enough(ranked);
        const Payloads payloads = find_payloads(component_, cycle_, held_);
        if (use_stored_tensors(result, ranked, enough)) {
            result.alternatives.clear();
        } else if (use_removable_references(result, enough) ||
                   use_back_references(result, enough)) {
            result.alternatives = enough;
        } else if (!enough.empty()) {
            result.cut = {enough.front()};
            result.alternatives.assign(enough.begin() + 1, enough.end());
        } else if (!ranked.empty() && ranked.front().score >= patterns::kWorthCutting) {
            Candidate best = to_candidate(widened(component_, ranked.front(), true), component_);
            best.enough = false;
            result.cut = {std::move(best)};
        }
        const bool is_open = result.cut.empty() || !result.cut.front().enough;
        if (is_open && use_links(result)) {
            result.alternatives.clear();
        } else if (is_open) {
            use_several_references(result, payloads, work_left);
        }
        if (!graph_.collectable && is_library_code(result.cut) && use_feedback_set(result, true)) {
            result.alternatives.clear();
        }
        prefer_own_payload_to_foreign_cycle(result, payloads.single);
        for (const Candidate& payload : payloads.single) {
            if (result.cut.empty() || result.cut.front().edges != payload.edges) {
                result.alternatives.push_back(payload);
            }
        }
        drop_poor_alternatives(result);
        result.alternatives.resize(std::min(result.alternatives.size(), kMostAlternatives));
        result.of_class = payloads.of_class;
        if (result.cut.empty() && result.of_class) {
            result.without_cut = &patterns::kClassOnEachCall;
        }
        result.freed_share = freed_share(result.cut);
        result.tie = result.cut.size() == 1 && !result.alternatives.empty() &&
                     is_tie(result.cut.front(), result.alternatives.front());
        return result;
    }

  private:
    // The candidates in `ranked` that each break all cycles. A candidate whose own references are
    // not sufficient is extended to all references of its kind.
    std::vector<Candidate> find_enough(const std::vector<InnerCandidate>& ranked) {
        std::vector<Candidate> enough;
        for (const InnerCandidate& candidate : ranked) {
            if (enough.size() > kMostAlternatives || candidate.score < patterns::kWorthCutting ||
                checks_left_ == 0) {
                break;
            }
            const EdgeIx edge = component_.edges[candidate.edges.front()];
            if (std::ranges::any_of(enough, [edge](const Candidate& other) {
                    return std::ranges::find(other.edges, edge) != other.edges.end();
                })) {
                continue;
            }
            InnerCandidate alone = widened(component_, candidate, false);
            if (ends_all(alone)) {
                enough.push_back(to_candidate(std::move(alone), component_));
            } else if (InnerCandidate all = widened(component_, candidate, true);
                       all.equivalent > 1 && ends_all(all)) {
                enough.push_back(to_candidate(std::move(all), component_));
            }
        }
        return enough;
    }

    // True if cutting `candidate` breaks all cycles. Always false once the limit on checks is
    // reached, so that only cuts that were checked are suggested.
    bool ends_all(const InnerCandidate& candidate) {
        if (checks_left_ == 0) {
            return false;
        }
        --checks_left_;
        return !still_holds(component_, {component_.edges.size(), candidate.edges});
    }

    // Drops alternatives that are rarely the right references to cut. A torch.nn.Module needs its
    // parameters, buffers and submodules. An object needs its data, but a function may capture more
    // than it needs. If the evidence for the cut is strong, a reference with weak evidence is
    // probably intentional. An item of a tuple cannot be removed, and a container in a container is
    // part of a data structure. Tuple items and nested containers are therefore not offered as
    // alternatives to cutting an attribute or a variable.
    void drop_poor_alternatives(Cut& result) const {
        const bool breaks_cycle = !result.cut.empty() && !result.cut.front().payload;
        const bool known =
            result.parent != kNone ||
            (breaks_cycle && result.cut.front().evidence->weight >= patterns::kKnownDirection);
        const bool cuts_item =
            result.cut.empty() ||
            is_container(graph_, graph_.edges[result.cut.front().edges.front()].holder);
        const bool is_programs = !is_library_code(result.cut);
        std::erase_if(result.alternatives, [&](const Candidate& candidate) {
            const EdgeIx edge = candidate.edges.front();
            if (result.cut.size() == 1 && std::ranges::find(result.cut.front().edges, edge) !=
                                              result.cut.front().edges.end()) {
                return true;
            }
            if (!graph_.collectable && is_programs && is_library_code({candidate})) {
                return true;
            }
            return graph_.is_child_of_module(edge) || (!cuts_item && is_fixed_item(edge)) ||
                   (candidate.payload
                        ? breaks_cycle && graph_.edges[edge].label.kind != model::EdgeKind::closure
                        : known && candidate.evidence->weight <= patterns::kMutual.weight);
        });
    }

    // Suggests what a hook for saved tensors, or a function that a library calls, stores.
    // Alternatives, such as clearing the variable of the hook, would break the backward pass.
    bool use_stored_tensors(Cut& result,
                            const std::vector<InnerCandidate>& ranked,
                            const std::vector<Candidate>& enough) const {
        if (ranked.empty() || (ranked.front().evidence != &patterns::kStoredByPackHook &&
                               ranked.front().evidence != &patterns::kStoredInArgument)) {
            return false;
        }
        if (!enough.empty() && enough.front().evidence == ranked.front().evidence) {
            result.cut = {enough.front()};
            return true;
        }
        return use_feedback_set(result);
    }

    // Suggests what hooks refer to, or where frames are stored, instead of a reference that may be
    // needed: a program that registers a hook can also remove it.
    bool use_removable_references(Cut& result, const std::vector<Candidate>& enough) const {
        if (!enough.empty() && enough.front().score >= patterns::kKnownDirection) {
            return false;
        }
        for (InnerCandidate& kind : find_removable_references(component_, cycle_)) {
            result.cut.push_back(to_candidate(std::move(kind), component_));
        }
        return !result.cut.empty();
    }

    // Suggests the back references to one parent, unless the evidence for a single reference is
    // strong enough (see kClearer).
    bool use_back_references(Cut& result, const std::vector<Candidate>& enough) const {
        if (!enough.empty() && enough.front().score >= patterns::kKnownDirection) {
            return false;
        }
        BackReferences back = find_back_references(component_, cycle_);
        if (back.kinds.empty()) {
            return false;
        }
        if (!enough.empty()) {
            const Candidate& single = enough.front();
            const bool intended = single.score < patterns::kOneOfSeveral;
            const bool may_be_set =
                intended || single.evidence == &patterns::kMutual ||
                back.kinds.front().evidence->pattern == patterns::kBackPointer.pattern;
            const int to_beat = single.score + (intended ? 0 : patterns::kClearer);
            if (!may_be_set || back.score < to_beat) {
                return false;
            }
        }
        for (InnerCandidate& kind : back.kinds) {
            result.references += kind.equivalent;
            result.cut.push_back(to_candidate(std::move(kind), component_));
        }
        result.parent = back.parent;
        result.on_every_cycle = back.on_every_cycle;
        return true;
    }

    // Used if nothing found so far breaks all cycles.
    void use_several_references(Cut& result,
                                const Payloads& payloads,
                                std::uint64_t& work_left) const {
        // In a cycle that no collection frees, dropping the data keeps the other objects alive.
        if (!graph_.collectable && use_feedback_set(result)) {
            return;
        }
        // Advice to cut a reference such as a class's own __mro__ would be useless, so suggest
        // references outside the cycle whose removal frees the memory.
        std::vector<Candidate> instead =
            payloads.single.empty()
                ? find_last_references(component_, held_, payloads.of_class, work_left)
                : std::vector{payloads.single.front()};
        if (!instead.empty()) {
            result.cut = std::move(instead);
        } else {
            use_feedback_set(result);
        }
    }

    // Returns false if there is no small set of references that breaks all cycles.
    bool use_feedback_set(Cut& result, bool only_programs = false) const {
        std::vector<InnerCandidate> set = find_feedback_set(component_, cycle_, only_programs);
        if (set.empty()) {
            return false;
        }
        result.cut.clear();
        result.parent = kNone;
        for (InnerCandidate& candidate : set) {
            result.cut.push_back(to_candidate(std::move(candidate), component_));
        }
        return true;
    }

    // Suggests all references between objects of one class, as in a linked list, if removing them
    // leaves no cycle that retains an owner. Other references of these objects are not suggested,
    // because linked objects need their data.
    bool use_links(Cut& result) const {
        std::map<ReferenceKind, Candidate> kinds;
        IndexSet<InnerEdgeIx> links(component_.edges.size());
        for (const InnerEdgeIx e : component_.all_edges()) {
            const EdgeIx edge = component_.edges[e];
            const NodeIx holder = graph_.edges[edge].holder;
            const NodeIx target = graph_.targets[edge];
            if (is_attribute(graph_, edge) && graph_.is(holder, model::NodeKind::object) &&
                graph_.node(holder).name == graph_.node(target).name &&
                !graph_.is_child_of_module(edge)) {
                links.insert(e);
                Candidate& kind = kinds[kind_of(component_, e)];
                kind.evidence = &patterns::kLinks;
                kind.edges.push_back(edge);
                kind.equivalent = kind.edges.size();
            }
        }
        if (kinds.empty() || kinds.size() > kMostInSet || still_holds(component_, links)) {
            return false;
        }
        result.cut.clear();
        for (auto& [kind, candidate] : kinds) {
            result.cut.push_back(std::move(candidate));
        }
        std::ranges::stable_sort(result.cut, {}, [this](const Candidate& candidate) {
            return label_of(graph_, candidate.edges.front());
        });
        return true;
    }

    // True if the location of each candidate is known, and in code of a library.
    [[nodiscard]] bool is_library_code(const std::vector<Candidate>& candidates) const {
        return std::ranges::all_of(candidates, [this](const Candidate& candidate) {
            const std::optional<Origin> origin =
                origin_of_location(graph_, candidate.edges.front(), candidate.keeper);
            return origin && *origin != Origin::user;
        });
    }

    // Users cannot change a cycle that is inside a library, but if they pass a callable to the
    // library, they can change what the callable captures.
    void prefer_own_payload_to_foreign_cycle(Cut& result,
                                             const std::vector<Candidate>& payloads) const {
        const bool own_cycle = std::ranges::any_of(cycle_, [this](InnerEdgeIx e) {
            return may_be_users(graph_, component_.edge(e).holder);
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
        result.parent = kNone;
        payload.evidence = &patterns::kPayloadOfCallable;
        result.cut = {std::move(payload)};
    }

    // Cutting a reference on the cycle frees only memory that cannot be reached from another cycle.
    // Returns 0 (unknown) if cycles remain after the cut.
    [[nodiscard]] double freed_share(const std::vector<Candidate>& cut) const {
        double share = 0;
        for (const Candidate& candidate : cut) {
            if (!candidate.payload) {
                return candidate.enough ? held_.freed_share(component_.index) : 0;
            }
            share += candidate.share;
        }
        return std::min(1.0, share);
    }

    // True for an item of a tuple, and for a container in a container.
    [[nodiscard]] bool is_fixed_item(EdgeIx edge) const {
        const NodeIx holder = graph_.edges[edge].holder;
        return graph_.is(holder, model::NodeKind::tuple) ||
               (is_container(graph_, holder) && is_container(graph_, graph_.targets[edge]));
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    const Cycle& cycle_;
    const RetainedSize& held_;
    std::uint64_t checks_left_;
};

}  // namespace

Cut choose_cut(const Component& component,
               const Cycle& cycle,
               const RetainedSize& held,
               std::uint64_t& work_left) {
    return CutSearch(component, cycle, held).run(work_left);
}

}  // namespace cyclewatch::analysis
