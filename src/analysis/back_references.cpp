// SPDX-License-Identifier: Apache-2.0
#include "analysis/back_references.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/roles.h"
#include "analysis/ways_back.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;

constexpr std::size_t kMostRoots = 24;
constexpr std::size_t kMostOfCycle = 8;      // references of the cycle whose objects are tried
constexpr std::size_t kMostReferredTo = 12;  // objects tried because many others refer to them
constexpr std::size_t kFarthestClimb = 32;
constexpr std::size_t kMostKinds = 256;
constexpr std::uint64_t kPassesOfRoot = 4;      // over the component, about
constexpr std::uint64_t kMostWork = 4'000'000;  // nodes and references looked at
constexpr std::size_t kMostThatCount = 4;       // references to the owner

bool is_callable(const CollapsedGraph& graph, std::uint32_t node) {
    switch (graph.node(node).kind) {
        case NodeKind::bound_method:
        case NodeKind::partial:
        case NodeKind::function:
        case NodeKind::builtin_function:
            return true;
        default:
            return false;
    }
}

class Search {
  public:
    Search(const CollapsedGraph& graph,
           const Component& component,
           const EquivalentReferences& equivalent)
        : graph_(graph),
          component_(component),
          equivalent_(equivalent),
          holders_(listed_by(component.targets, component.size())),
          roles_(graph, component, holders_),
          is_back_(component.targets.size(), 0),
          is_shown_(component.targets.size(), 0) {}

    BackReferences run(const Cycle& cycle) {
        for (const std::uint32_t e : cycle) {
            is_shown_[e] = 1;
        }
        BackReferences best;
        for (const std::uint32_t root : roots(cycle)) {
            if (!may_look(kPassesOfRoot)) {
                break;
            }
            BackReferences found = seen_from(root);
            if (!found.kinds.empty() && (best.kinds.empty() || found.score > best.score)) {
                best = std::move(found);
            }
        }
        return best;
    }

  private:
    [[nodiscard]] const CollapsedEdge& collapsed(std::uint32_t e) const {
        return graph_.edges[component_.edges[e]];
    }
    [[nodiscard]] std::uint32_t node_of(std::uint32_t position) const {
        return component_.nodes[position];
    }

    // Takes so many passes over the component from what may still be looked at.
    bool may_look(std::uint64_t passes) {
        const std::uint64_t work = passes * (component_.size() + component_.targets.size());
        const bool enough = work <= work_left_;
        work_left_ -= enough ? work : 0;
        return enough;
    }

    // What is tried as the owner, the likeliest first.
    [[nodiscard]] std::vector<std::uint32_t> roots(const Cycle& cycle) const {
        std::vector<std::uint32_t> roots;
        const auto add = [&](std::uint32_t position) {
            if (!is_container(graph_, node_of(position)) &&
                std::ranges::find(roots, position) == roots.end()) {
                roots.push_back(position);
            }
        };
        for (std::size_t i = 0; i < std::min(cycle.size(), kMostOfCycle); ++i) {
            add(component_.holder[cycle[i]]);
            add(top_of(cycle[i]));
        }
        std::ranges::for_each(most_referred_to(), add);
        roots.resize(std::min(roots.size(), kMostRoots));
        return roots;
    }

    [[nodiscard]] std::vector<std::uint32_t> most_referred_to() const {
        std::vector<std::uint32_t> nodes;
        for (std::uint32_t n = 0; n < component_.size(); ++n) {
            if (!is_container(graph_, node_of(n))) {
                nodes.push_back(n);
            }
        }
        std::ranges::stable_sort(
            nodes, std::greater{}, [&](std::uint32_t n) { return holders_.of(n).size(); });
        nodes.resize(std::min(nodes.size(), kMostReferredTo));
        return nodes;
    }

    // Where references called like `e` lead in the end.
    [[nodiscard]] std::uint32_t top_of(std::uint32_t e) const {
        std::uint32_t node = component_.targets[e];
        if (!is_attribute(collapsed(e).label.kind)) {
            return node;
        }
        for (std::size_t steps = 0; steps < kFarthestClimb; ++steps) {
            std::uint32_t next = node;
            for (std::uint32_t o = component_.first[node]; o < component_.first[node + 1]; ++o) {
                if (is_attribute(collapsed(o).label.kind) &&
                    roles_.plain_name(o) == roles_.plain_name(e)) {
                    next = component_.targets[o];
                }
            }
            if (next == node) {
                break;
            }
            node = next;
        }
        return node;
    }

    BackReferences seen_from(std::uint32_t root) {
        std::vector<std::uint32_t> back = ways_back(component_, root);
        mark(back);
        bool ends = !back.empty() && !still_holds(component_, is_back_);
        if (!back.empty() && !ends) {
            // What several objects share is dominated by none of them: all of one name then.
            back = of_same_names(back);
            mark(back);
            ends = reaches_all(root) && !still_holds(component_, is_back_);
        }
        BackReferences found;
        if (ends) {
            found.owner = node_of(root);
            found.kinds = kinds_of(back);
            put_in_order(found.kinds, root);
            drop_needless(found.kinds);
            found.score = score_of(found.kinds, std::ranges::count_if(back, [&](std::uint32_t e) {
                                       return component_.targets[e] == root;
                                   }));
        }
        return found;
    }

    // Leaves out what no program can, and notes the rest in is_back_.
    void mark(std::vector<std::uint32_t>& back) {
        std::erase_if(back, [&](std::uint32_t e) {
            return component_.structural[e] != 0 ||
                   graph_.is(node_of(component_.targets[e]), NodeKind::type);
        });
        std::ranges::fill(is_back_, char{0});
        for (const std::uint32_t e : back) {
            is_back_[e] = 1;
        }
    }

    // All references by attributes that are called like one of `some`, or by what these keep.
    [[nodiscard]] std::vector<std::uint32_t> of_same_names(std::span<const std::uint32_t> some) {
        std::set<std::string_view> names;
        for (const std::uint32_t e : some) {
            names.insert(roles_.attribute_behind(e));
        }
        names.erase(std::string_view{});
        std::vector<std::uint32_t> all;
        for (std::uint32_t e = 0; e < component_.targets.size(); ++e) {
            if (is_back_[e] != 0 || (!is_container(graph_, node_of(component_.targets[e])) &&
                                     names.contains(roles_.attribute_behind(e)))) {
                all.push_back(e);
            }
        }
        return all;
    }

    // Everything is reached from `root` without the references in is_back_.
    [[nodiscard]] bool reaches_all(std::uint32_t root) const {
        std::vector<char> seen(component_.size(), 0);
        std::vector<std::uint32_t> queue{root};
        seen[root] = 1;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (std::uint32_t e = component_.first[queue[i]]; e < component_.first[queue[i] + 1];
                 ++e) {
                const std::uint32_t target = component_.targets[e];
                if (is_back_[e] == 0 && seen[target] == 0) {
                    seen[target] = 1;
                    queue.push_back(target);
                }
            }
        }
        return queue.size() == component_.size();
    }

    // One candidate for each kind of `back`; none if one of them is no advice.
    std::vector<Candidate> kinds_of(const std::vector<std::uint32_t>& back) {
        std::map<std::string, Candidate> kinds;
        for (const std::uint32_t e : back) {
            const std::uint32_t item = outermost(e);
            const Candidate judged = judge(e, item);
            if (judged.score < patterns::kWorthCutting || judged.evidence == nullptr) {
                return {};
            }
            Candidate& kind = kinds.try_emplace(roles_.kind(item), judged).first->second;
            if (kind.edges.back() != item) {
                kind.edges.push_back(item);
            }
        }
        std::vector<Candidate> result;
        for (auto& [text, kind] : kinds) {
            std::ranges::sort(kind.edges);
            kind.edges.erase(std::unique(kind.edges.begin(), kind.edges.end()), kind.edges.end());
            kind.equivalent = kind.edges.size();
            kind.evidence = &evidence_shown(kind);
            result.push_back(std::move(kind));
        }
        if (result.size() > kMostKinds) {
            result.clear();
        }
        return result;
    }

    // What does not say which of two objects is the owner does so now.
    [[nodiscard]] const Evidence& evidence_shown(const Candidate& kind) const {
        const std::string_view pattern = kind.evidence->pattern;
        if (pattern != patterns::kMutual.pattern && pattern != patterns::kListOfHandles.pattern &&
            pattern != patterns::kMember.pattern) {
            return *kind.evidence;
        }
        return patterns::kBackToOwner;
    }

    // How good advice each role is: as good as the best of its kinds.
    [[nodiscard]] std::map<std::string, int> roles_of(const std::vector<Candidate>& kinds) const {
        std::map<std::string, int> roles;
        for (const Candidate& kind : kinds) {
            int& score =
                roles.try_emplace(roles_.role(kind.edges.front()), kind.score).first->second;
            score = std::max(score, kind.score);
        }
        return roles;
    }

    // Those of the cycle that is shown first, then those that lead to the owner itself.
    void put_in_order(std::vector<Candidate>& kinds, std::uint32_t root) const {
        const std::map<std::string, int> roles = roles_of(kinds);
        std::ranges::stable_sort(kinds, std::greater{}, [&](const Candidate& kind) {
            const std::uint32_t e = kind.edges.front();
            const bool to_owner = component_.targets[e] == root;
            const bool shown = std::ranges::any_of(
                kind.edges, [this](std::uint32_t edge) { return is_shown_[edge] != 0; });
            return std::tuple(
                shown, to_owner, roles.at(roles_.role(e)), kind.score, kind.equivalent);
        });
    }

    // Takes out, from the least telling on, what only ends cycles that hold no memory.
    void drop_needless(std::vector<Candidate>& kinds) {
        const auto mark_kind = [this](const Candidate& kind, char value) {
            for (const std::uint32_t e : kind.edges) {
                is_back_[e] = value;
            }
        };
        std::ranges::fill(is_back_, char{0});
        for (const Candidate& kind : kinds) {
            mark_kind(kind, 1);
        }
        for (std::size_t i = kinds.size(); i-- > 0 && kinds.size() > 1 && may_look(1);) {
            mark_kind(kinds[i], 0);
            if (still_holds(component_, is_back_)) {
                mark_kind(kinds[i], 1);
            } else {
                kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    // `to_owner`: how many references lead to the owner itself.
    [[nodiscard]] int score_of(const std::vector<Candidate>& kinds, std::ptrdiff_t to_owner) const {
        if (kinds.empty()) {
            return 0;
        }
        const std::map<std::string, int> roles = roles_of(kinds);
        int sum = 0;
        for (const auto& [role, score] : roles) {
            sum += score;
        }
        const auto count = static_cast<int>(roles.size());
        const auto counted = std::clamp<std::size_t>(to_owner, 1, kMostThatCount);
        return sum / count + patterns::kFurtherRole * (count - 1) +
               patterns::kTwiceTheReferences * (std::bit_width(counted) - 1);
    }

    // What a program would change to remove `e`: the attribute that keeps the list, if all that
    // the list holds here leads back; or what keeps the callable, if that is the known mistake.
    std::uint32_t outermost(std::uint32_t e) {
        const std::uint32_t holder = component_.holder[e];
        if (is_callable(graph_, node_of(holder)) && leads_only_back(holder, 0)) {
            const std::uint32_t keeper = holders_.of(holder).front();
            return judged_alone(keeper).score > judged_alone(e).score ? keeper : e;
        }
        std::uint32_t keeper = e;
        for (int steps = 0; steps < Roles::kDeepestContainer; ++steps) {
            const std::uint32_t container = component_.holder[keeper];
            if (!is_anonymous_item(graph_, component_.edges[keeper]) ||
                !leads_only_back(container, 0)) {
                break;
            }
            keeper = holders_.of(container).front();
        }
        return is_attribute(collapsed(keeper).label.kind) ? keeper : e;
    }

    // One reference leads to the object, and all that it refers to here are back references.
    [[nodiscard]] bool leads_only_back(std::uint32_t position, int depth) const {
        if (holders_.of(position).size() != 1 || depth > Roles::kDeepestContainer) {
            return false;
        }
        for (std::uint32_t e = component_.first[position]; e < component_.first[position + 1];
             ++e) {
            const std::uint32_t target = component_.targets[e];
            const bool through = is_container(graph_, node_of(target)) ||
                                 graph_.is(node_of(target), NodeKind::bound_method);
            if (is_back_[e] == 0 && component_.structural[e] == 0 &&
                !(through && leads_only_back(target, depth + 1))) {
                return false;
            }
        }
        return true;
    }

    // `item` stands for `e`: whichever is the better evidence counts.
    Candidate judge(std::uint32_t e, std::uint32_t item) {
        Candidate judged = judged_alone(item);
        if (const Candidate& inner = judged_alone(e);
            judged.evidence != nullptr && inner.score > judged.score) {
            judged.score = inner.score;
            judged.evidence = inner.evidence;
        }
        judged.edges = {item};
        if (is_container(graph_, node_of(component_.targets[item])) && item != e) {
            judged.evidence = &patterns::kBackToOwnerInList;
        }
        return judged;
    }

    const Candidate& judged_alone(std::uint32_t e) {
        const auto [entry, fresh] = judged_.try_emplace(equivalent_.of_kind(e).front());
        if (fresh && may_look(1)) {
            entry->second = judge_reference(graph_, component_, e);
        }
        return entry->second;
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    const EquivalentReferences& equivalent_;
    Rows<> holders_;  // per node: of the references to it
    Roles roles_;
    std::vector<char> is_back_;   // per reference, as seen from the object tried last
    std::vector<char> is_shown_;  // per reference: on the cycle that stands for the component
    std::uint64_t work_left_ = kMostWork;
    std::unordered_map<std::uint32_t, Candidate> judged_;  // by the first reference of the kind
};

}  // namespace

BackReferences find_back_references(const CollapsedGraph& graph,
                                    const Component& component,
                                    const Cycle& cycle,
                                    const EquivalentReferences& equivalent) {
    return Search(graph, component, equivalent).run(cycle);
}

}  // namespace cyclewatch::analysis
