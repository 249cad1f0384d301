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
#include <utility>

#include "analysis/back_reference_kinds.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/parent_candidates.h"
#include "analysis/ways_back.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;

constexpr std::size_t kMostInnerParents = 4;
constexpr std::uint64_t kPassesOfRoot = 4;            // approximate passes per candidate
constexpr std::uint64_t kMostSearchWork = 4'000'000;  // nodes and references visited
constexpr std::size_t kMostThatCount = 4;  // references to the parent that raise the score

class BackReferenceSearch {
  public:
    BackReferenceSearch(const Component& component, const Cycle& cycle)
        : graph_(component.graph),
          component_(component),
          on_cycle_(set_of(cycle)),
          holders_(graph::listed_by(component.targets, component.size())),
          roles_(component, holders_),
          roots_(parent_candidates(component, cycle, holders_, roles_)),
          work_(component, kMostSearchWork),
          kinds_(component, holders_, roles_, on_cycle_, work_) {}

    BackReferences run() {
        BackReferences best;
        MemberIx parent = kNone;
        IndexSet<MemberIx> without_inner;  // roots whose back references are on all cycles
        // The search for nested parents takes longer, so it runs last, within the remaining work
        // limit.
        for (const bool with_inner : {false, true}) {
            for (const MemberIx root : roots_) {
                if (!work_.take_passes(kPassesOfRoot)) {
                    break;
                }
                if (without_inner.contains(root)) {
                    continue;
                }
                Edges back = changeable(ways_back(component_, root));
                const bool remains = !back.empty() && still_holds(component_, set_of(back));
                if (!remains) {
                    without_inner.insert(root);
                }
                if (back.empty() || remains != with_inner || is_created_for_child(root)) {
                    continue;
                }
                BackReferences found =
                    seen_from(root, with_inner ? with_inner_parents(root, std::move(back)) : back);
                if (is_better(found, best)) {
                    best = std::move(found);
                    parent = root;
                }
            }
        }
        best.on_every_cycle =
            !best.kinds.empty() && !still_holds(component_, set_of(holders_.of(parent)));
        return best;
    }

  private:
    using Edges = std::vector<InnerEdgeIx>;

    [[nodiscard]] IndexSet<InnerEdgeIx> set_of(std::span<const InnerEdgeIx> edges) const {
        return {component_.edges.size(), edges};
    }

    // If one set of roles contains the other, the smaller set is better, because the additional
    // roles are not needed. Otherwise, a higher score is better.
    [[nodiscard]] bool is_better(const BackReferences& found, const BackReferences& best) const {
        if (found.kinds.empty() || best.kinds.empty()) {
            return !found.kinds.empty();
        }
        const auto is_part_of = [](const auto& roles, const auto& all) {
            return roles.size() < all.size() && std::ranges::all_of(roles, [&](const auto& role) {
                       return all.contains(role.first);
                   });
        };
        const auto roles = kinds_.roles_of(found.kinds);
        const auto best_roles = kinds_.roles_of(best.kinds);
        if (is_part_of(roles, best_roles) || is_part_of(best_roles, roles)) {
            return roles.size() < best_roles.size();
        }
        // Break ties by name, because the order of the objects depends on earlier collections.
        return found.score != best.score ? found.score > best.score : roles < best_roles;
    }

    // True if `root` was probably created for one of the objects to which it refers, and is held
    // only by that object and its children: a context that is created for a model and stored in
    // each of its layers. If its holders referred to it weakly, nothing would keep `root` alive.
    // References from objects that `root` reaches without the objects that it received do not
    // count, because these objects do not keep `root` alive. If the only other holder is the object
    // that `root` received, the two may as well have been created the other way round.
    [[nodiscard]] bool is_created_for_child(MemberIx root) {
        const IndexSet<MemberIx> children = children_of(root);
        std::set<MemberIx> holders;
        std::size_t references = 0;
        for (const InnerEdgeIx e : holders_.of(root)) {
            if (component_.structural.contains(e)) {
                continue;
            }
            ++references;
            if (children.contains(component_.holder[e])) {
                continue;
            }
            if (!was_passed(e) || kinds_.score_alone(e) >= patterns::kKnownDirection) {
                return false;
            }
            holders.insert(component_.holder[e]);
        }
        for (const InnerEdgeIx e : component_.edges_of(root)) {
            const bool is_pair = holders == std::set<MemberIx>{component_.targets[e]};
            if (references > 1 && !holders.empty() && !is_pair && was_passed(e) &&
                reaches(component_.targets[e], holders, root)) {
                return true;
            }
        }
        return false;
    }

    // The objects that can be reached from `root` without the objects that it received.
    [[nodiscard]] IndexSet<MemberIx> children_of(MemberIx root) const {
        IndexSet<MemberIx> seen(component_.size());
        std::vector<MemberIx> waiting;
        const auto add_targets = [&](MemberIx node) {
            for (const InnerEdgeIx e : component_.edges_of(node)) {
                const MemberIx target = component_.targets[e];
                if (target != root && (node != root || !was_passed(e)) && seen.insert(target)) {
                    waiting.push_back(target);
                }
            }
        };
        add_targets(root);
        while (!waiting.empty()) {
            const MemberIx node = waiting.back();
            waiting.pop_back();
            add_targets(node);
        }
        return seen;
    }

    // True if the attribute `e` stores an object that existed before, according to the code.
    [[nodiscard]] bool was_passed(InnerEdgeIx e) const {
        const model::AttributeSite* const site = site_of(graph_, component_.edges[e]);
        return site != nullptr && site->value == model::ValueOrigin::taken &&
               !site->holder_made_by_target && !is_container(graph_, component_.target_node(e));
    }

    // True if all of `nodes` can be reached from `start` without passing through `without`.
    [[nodiscard]] bool reaches(MemberIx start, std::set<MemberIx> nodes, MemberIx without) const {
        IndexSet<MemberIx> seen(component_.size());
        std::vector<MemberIx> waiting{start};
        seen.insert(without);
        while (!waiting.empty() && !nodes.empty()) {
            const MemberIx node = waiting.back();
            waiting.pop_back();
            if (seen.insert(node)) {
                nodes.erase(node);
                for (const InnerEdgeIx e : component_.edges_of(node)) {
                    waiting.push_back(component_.targets[e]);
                }
            }
        }
        return nodes.empty();
    }

    // The suggestion to remove `back`, the back references to `root` and to inner parents.
    BackReferences seen_from(MemberIx root, const Edges& back) {
        BackReferences found{.parent = component_.nodes[root], .kinds = kinds_.kinds_of(back)};
        if (found.kinds.empty()) {
            return found;
        }
        std::ranges::stable_sort(found.kinds, std::greater{}, [this](const InnerCandidate& kind) {
            return on_cycle_.contains(kind.edges.front());  // these are listed first
        });
        drop_needless(found.kinds, component_, work_);
        kinds_.sort_for_reader(found.kinds, found.parent);
        found.score = score_of(kinds_.roles_of(found.kinds), references_to(root, back));
        return found;
    }

    [[nodiscard]] std::ptrdiff_t references_to(MemberIx member, const Edges& edges) const {
        return std::ranges::count_if(
            edges, [&](InnerEdgeIx e) { return component_.targets[e] == member; });
    }

    // Returns `back` and the back references to further parents on the remaining cycles, adding one
    // parent at a time. Empty if cycles still remain, or if some object would no longer be
    // reachable from `root`.
    Edges with_inner_parents(MemberIx root, Edges back) {
        for (std::size_t level = 0; level < kMostInnerParents; ++level) {
            Edges best;
            int best_score = -1;
            for (const MemberIx inner : roots_) {
                if (inner == root || !work_.take_passes(kPassesOfRoot)) {
                    continue;
                }
                const Edges added = ways_back(component_, inner, set_of(back));
                Edges all = back;
                all.insert(all.end(), added.begin(), added.end());
                all = changeable(with_same_names(set_of(changeable(std::move(all)))));
                if (added.empty() || !reaches_all(component_, root, set_of(all))) {
                    continue;
                }
                const std::vector<InnerCandidate> kinds = kinds_.kinds_of(all);
                const int score = score_of(kinds_.roles_of(kinds), references_to(inner, added));
                if (!kinds.empty() && score > best_score) {
                    best_score = score;
                    best = std::move(all);
                }
            }
            if (best.empty() || !still_holds(component_, set_of(best))) {
                return best;
            }
            back = std::move(best);
        }
        return {};
    }

    // `edges` without the references that a program cannot change.
    [[nodiscard]] Edges changeable(Edges edges) const {
        std::erase_if(edges, [&](InnerEdgeIx e) {
            return component_.structural.contains(e) ||
                   graph_.is(component_.target_node(e), NodeKind::type);
        });
        return edges;
    }

    // Collects the names of the attributes that store the references in `back`, directly or in
    // containers. Returns `back` and all other references stored in attributes with these names.
    [[nodiscard]] Edges with_same_names(const IndexSet<InnerEdgeIx>& back) const {
        std::set<std::string_view> names;
        for (const InnerEdgeIx e : component_.all_edges()) {
            if (back.contains(e)) {
                names.insert(roles_.attribute_behind(e));
            }
        }
        names.erase(std::string_view{});
        Edges all;
        for (const InnerEdgeIx e : component_.all_edges()) {
            if (back.contains(e) || (!is_container(graph_, component_.target_node(e)) &&
                                     names.contains(roles_.attribute_behind(e)))) {
                all.push_back(e);
            }
        }
        return all;
    }

    // `to_parent` is the number of references to the parent itself.
    static int score_of(const std::map<std::string, int>& roles, std::ptrdiff_t to_parent) {
        int sum = 0;
        for (const auto& [role, score] : roles) {
            sum += score;
        }
        const auto count = std::max(1, static_cast<int>(roles.size()));
        const auto counted = std::clamp<std::size_t>(to_parent, 1, kMostThatCount);
        return sum / count + patterns::kFurtherRole * (count - 1) +
               patterns::kTwiceTheReferences * (std::bit_width(counted) - 1);
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    IndexSet<InnerEdgeIx> on_cycle_;
    Holders holders_;
    Roles roles_;
    std::vector<MemberIx> roots_;
    WorkLimit work_;
    BackReferenceKinds kinds_;
};

}  // namespace

BackReferences find_back_references(const Component& component, const Cycle& cycle) {
    return BackReferenceSearch(component, cycle).run();
}

}  // namespace cyclewatch::analysis
