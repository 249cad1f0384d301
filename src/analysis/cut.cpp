// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "analysis/alike.h"
#include "analysis/names.h"
#include "analysis/origin.h"
#include "analysis/pattern_table.h"
#include "analysis/payload.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostAlternatives = 3;
constexpr std::size_t kMostCandidates = 32;     // of one loop
constexpr std::uint64_t kMostWork = 2'000'000;  // nodes and references looked at, all checks
constexpr std::uint64_t kChecksForLoop = 4;     // what choosing a loop costs, in checks

// True for labels that somebody chose and that say what the target is to the holder.
bool is_named(model::EdgeKind kind) {
    return kind == model::EdgeKind::attribute || kind == model::EdgeKind::slot ||
           kind == model::EdgeKind::closure || kind == model::EdgeKind::member;
}

class Search {
  public:
    Search(const LogicalGraph& graph,
           const Component& component,
           const HeldBytes& held,
           MemoryCutter& cutter)
        : graph_(graph),
          component_(component),
          held_(held),
          cutter_(cutter),
          dead_(component.targets.size(), 0),
          checks_left_(4 + kMostWork / (component.size() + component.targets.size())) {}

    Cut run(const Loop& loop) {
        Cut result;
        const std::vector<Candidate> ranked = rank(loop);
        const std::vector<Candidate> enough = those_enough(ranked);
        const Payloads found = find_payloads(graph_, component_, loop, held_);
        const std::vector<Candidate>& payloads = found.single;
        if (enough.empty()) {
            result.cut = smallest_set(loop);
        } else if (result.cut = clearer_set(loop, ranked, enough.front()); !result.cut.empty()) {
            result.alternatives = enough;
        } else {
            result.cut = {enough.front()};
            result.alternatives.assign(enough.begin() + 1, enough.end());
        }
        prefer_payload_to_no_advice(result, found);
        prefer_own_payload_to_foreign_loop(result, loop, payloads);
        for (const Candidate& payload : payloads) {
            if (result.cut.empty() || result.cut.front().edges != payload.edges) {
                result.alternatives.push_back(payload);
            }
        }
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
               !second.one_target &&  // many places are not as good as one
               (first.score - second.score <= patterns::kTieMargin ||
                patterns::only_names_tell(*first.evidence, *second.evidence));
    }

    // The references of `loop` that a program can leave out, best first.
    std::vector<Candidate> rank(const Loop& loop) const {
        std::vector<std::uint32_t> edges;
        std::vector<std::uint64_t> kept;
        for (const std::uint32_t e : loop) {
            edges.push_back(component_.edges[e]);
            kept.push_back(component_.kept[component_.holder[e]]);
        }
        const LoopView view{graph_, edges, kept};
        std::vector<Candidate> ranked;
        for (std::size_t i = 0; i < loop.size(); ++i) {
            Candidate candidate;
            candidate.edges = {loop[i]};  // positions in the component until it is finished
            if (is_container(graph_, view.holder(i)) ||
                graph_.is(view.holder(i), model::NodeKind::partial)) {
                candidate.keeper = edges[view.previous(i)];
            }
            candidate.evidence = &evidence_of(view, i);
            candidate.score = score_of(view, i);
            ranked.push_back(std::move(candidate));
        }
        std::ranges::stable_sort(ranked, std::greater{}, &Candidate::score);
        ranked.resize(std::min(ranked.size(), kMostCandidates));
        return ranked;
    }

    // Those of `ranked` that end all loops, as finished candidates: alone if that is enough, else
    // with all of their kind, else with all that lead to the same object under the same name.
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
                if (widened.alike == 1 || !ends_all(widened)) {
                    widened = candidate;
                    if (!all_to_one_target(widened) || !ends_all(widened)) {
                        continue;
                    }
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
        if (logical(edge).cell == kNone) {
            return;
        }
        for (const std::uint32_t e : alike().through_cell(edge)) {
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
        const std::uint32_t cell = logical(edge).cell;
        for (const std::uint32_t e : alike().of_kind(edge)) {
            const bool listed = e == edge || (cell != kNone && logical(e).cell == cell);
            if (!listed) {
                candidate.edges.push_back(e);
                ++candidate.alike;
            }
        }
    }

    // All references of that label to that object, whatever holds them: five kinds of callbacks,
    // each with the trainer as its `.trainer`, are told so in one place. False for so few kinds
    // that a set can name them all.
    bool all_to_one_target(Candidate& candidate) {
        const std::uint32_t example = candidate.edges.front();
        if (!is_named(logical(example).label.kind)) {
            return false;
        }
        std::set<std::uint32_t> kinds;  // the first reference of each
        for (std::uint32_t e = 0; e < component_.edges.size(); ++e) {
            if (component_.targets[e] != component_.targets[example] ||
                logical(e).label.kind != logical(example).label.kind ||
                logical(e).label.name != logical(example).label.name) {
                continue;
            }
            kinds.insert(alike().of_kind(e).front());
            if (e != example) {
                candidate.edges.push_back(e);
            }
        }
        candidate.alike = candidate.edges.size();
        candidate.one_target = true;
        return kinds.size() > kMostInSet;
    }

    // Where the one reference that ends all loops is only how the objects are meant to hang
    // together (`.callbacks`), a set of known mistakes that does the same; where it leads to what
    // hooks were registered on, those hooks; empty if there is none.
    std::vector<Candidate> clearer_set(const Loop& loop,
                                       const std::vector<Candidate>& ranked,
                                       const Candidate& single) {
        std::vector<Candidate> set;
        const bool feature = single.score < patterns::kOneOfSeveral;
        const int floor = feature ? patterns::kClearMember : patterns::kHook.weight;
        if (ranked.front().score >= floor && (feature || !is_hook(single))) {
            fill_set(set, loop, floor);
        }
        if (are_of_one_holder(set) || (!feature && !std::ranges::all_of(set, is_hook))) {
            set.clear();
        }
        for (Candidate& candidate : set) {
            candidate = finish(std::move(candidate));
        }
        return set;
    }

    [[nodiscard]] static bool is_hook(const Candidate& candidate) {
        return candidate.evidence == &patterns::kHook ||
               candidate.evidence == &patterns::kHookOnSelf;
    }

    // Several references of one function or object are no clearer than the one that leads to it,
    // but for two attributes by which a part points back to its whole.
    [[nodiscard]] bool are_of_one_holder(const std::vector<Candidate>& set) const {
        const auto one_holder = [&](const Candidate& candidate) {
            return candidate.alike == 1 && logical(candidate.edges.front()).holder ==
                                               logical(set.front().edges.front()).holder;
        };
        const auto way_back = [&](const Candidate& candidate) {
            const std::uint32_t edge = candidate.edges.front();
            return candidate.evidence->pattern == patterns::kBackPointer.pattern &&
                   component_.targets[edge] == component_.targets[set.front().edges.front()];
        };
        return std::ranges::all_of(set, one_holder) && !std::ranges::all_of(set, way_back);
    }

    // The smallest set of candidates that score at least `floor`, or nothing.
    void fill_set(std::vector<Candidate>& set, const Loop& first, int floor) {
        for (std::size_t size = 1; size <= kMostInSet && set.empty(); ++size) {
            complete(set, first, size, floor);
        }
        drop_needless(set);
    }

    // A loop that holds an owner only by way of another loop needs no reference of its own, and
    // complete() cannot know that before it has come to the other one.
    void drop_needless(std::vector<Candidate>& set) {
        for (std::size_t left_out = 0; left_out < set.size() && set.size() > 1;) {
            for (std::size_t i = 0; i < set.size(); ++i) {
                mark(set[i], i == left_out ? 0 : 1);
            }
            const bool needless = !holds_still();
            std::ranges::fill(dead_, char{0});
            if (needless) {
                set.erase(set.begin() + static_cast<std::ptrdiff_t>(left_out));
            } else {
                ++left_out;
            }
        }
    }

    // Most components need it never: their loop has a reference that is enough.
    const AlikeReferences& alike() {
        if (!alike_) {
            alike_.emplace(graph_, component_);
        }
        return *alike_;
    }

    // The smallest set; only asked for where no single item is enough.
    std::vector<Candidate> smallest_set(const Loop& first) {
        std::vector<Candidate> set;
        fill_set(set, first, patterns::kWorthCutting);
        if (set.empty()) {
            set = rank(first);
            set.resize(set.front().score < patterns::kWorthCutting ? 0 : 1);
            for (Candidate& best : set) {
                all_alike(best);
                best.enough = false;
            }
        }
        for (Candidate& candidate : set) {
            candidate = finish(std::move(candidate));
        }
        return set;
    }

    // Adds up to `room` candidates that score `floor` to `set` such that no loop is left; false,
    // and nothing added, if there are none. A set that ends all loops has a reference of each loop,
    // or of its way to the memory: so those of one loop are tried in turn, each with the best for
    // what it leaves.
    bool complete(std::vector<Candidate>& set, const Loop& loop, std::size_t room, int floor) {
        std::vector<Candidate> ranked = rank(loop);
        std::ranges::move(rank_way(way_to_memory(component_, loop, dead_)),
                          std::back_inserter(ranked));
        for (Candidate& candidate : ranked) {
            if (candidate.score < floor) {
                continue;
            }
            const std::vector<char> before = dead_;
            all_alike(candidate);
            mark(candidate, 1);
            set.push_back(std::move(candidate));
            const bool ended = !holds_still();
            const bool completed = ended || (room > 1 && checks_left_ > 0 &&
                                             complete(set, loop_left(), room - 1, floor));
            dead_ = before;
            if (completed) {
                return true;
            }
            set.pop_back();
        }
        return false;
    }

    // The references of `way`, best first, each judged on the shortest loop that it is on.
    [[nodiscard]] std::vector<Candidate> rank_way(const std::vector<std::uint32_t>& way) const {
        std::vector<Candidate> ranked;
        for (const std::uint32_t e : way) {
            std::vector<char> others(dead_.size(), 0);
            const std::uint32_t holder = component_.holder[e];
            for (std::uint32_t o = component_.first[holder]; o < component_.first[holder + 1];
                 ++o) {
                others[o] = o == e ? 0 : 1;
            }
            for (Candidate& candidate : rank(shortest_loop(component_, holder, others))) {
                if (candidate.edges.front() == e) {
                    ranked.push_back(std::move(candidate));
                }
            }
        }
        std::ranges::stable_sort(ranked, std::greater{}, &Candidate::score);
        return ranked;
    }

    // A loop through which an owner is still held.
    [[nodiscard]] Loop loop_left() {
        checks_left_ -= std::min(checks_left_, kChecksForLoop);
        return choose_loop(graph_, component_, without_harmless(component_, dead_));
    }

    // "Cut the class's own __mro__" helps nobody: then the memory is what can be taken away.
    void prefer_payload_to_no_advice(Cut& result, const Payloads& payloads) {
        if (!result.cut.empty() && result.cut.front().enough) {
            return;
        }
        std::vector<Candidate> instead = payloads.set;
        if (!payloads.single.empty()) {
            instead = {payloads.single.front()};
        } else if (instead.empty()) {
            instead = find_joint_payload(graph_, component_, cutter_, payloads.of_class);
        }
        if (!instead.empty()) {
            result.cut = std::move(instead);
        }
    }

    // References on the loop free what no other loop leads to as well; and if loops are left,
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

    // Nobody can change a loop that is all inside a library, but everybody can change what their
    // own callable captures before they hand it over.
    void prefer_own_payload_to_foreign_loop(Cut& result,
                                            const Loop& loop,
                                            const std::vector<Candidate>& payloads) const {
        const bool own_loop = std::any_of(loop.begin(), loop.end(), [this](std::uint32_t e) {
            return may_be_users(graph_, logical(e).holder);
        });
        if (own_loop || payloads.empty() || result.cut.empty() || result.cut.front().payload) {
            return;
        }
        Candidate payload = payloads.front();
        const LogicalEdge& edge = graph_.edges[payload.edges.front()];
        if (edge.label.kind != model::EdgeKind::closure ||
            origin_of(graph_, edge.holder) != Origin::user) {
            return;
        }
        if (result.cut.size() == 1) {
            result.alternatives.insert(result.alternatives.begin(), result.cut.front());
        }
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

    [[nodiscard]] const LogicalEdge& logical(std::uint32_t e) const {
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

    const LogicalGraph& graph_;
    const Component& component_;
    const HeldBytes& held_;
    MemoryCutter& cutter_;
    std::optional<AlikeReferences> alike_;
    std::vector<char> dead_;  // per reference of the component
    std::uint64_t checks_left_;
};

}  // namespace

void note_variable(Candidate& candidate, const LogicalGraph& graph, std::uint32_t edge) {
    // The frames of a traceback go with the one reference to it.
    const bool variable = graph.is_through_variable(edge);
    candidate.shared_cell = variable && candidate.edges.size() > 1;
    candidate.alike = variable ? candidate.edges.size() : 1;
}

Cut choose_cut(const LogicalGraph& graph,
               const Component& component,
               const Loop& loop,
               const HeldBytes& held,
               MemoryCutter& cutter) {
    return Search(graph, component, held, cutter).run(loop);
}

}  // namespace cyclewatch::analysis
