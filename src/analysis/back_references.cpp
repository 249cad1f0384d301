// SPDX-License-Identifier: Apache-2.0
#include "analysis/back_references.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "analysis/back_reference_kinds.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/roles.h"
#include "analysis/ways_back.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;

constexpr std::size_t kMostOfCycle = 8;      // try the objects of this many references
constexpr std::size_t kMostReferredTo = 12;  // objects tried because many references lead to them
constexpr std::size_t kMostInnerParents = 4;
constexpr std::size_t kFarthestClimb = 10'000;
constexpr std::uint64_t kPassesOfRoot = 4;            // approximate passes per candidate
constexpr std::uint64_t kMostSearchWork = 4'000'000;  // nodes and references visited
constexpr std::size_t kMostThatCount = 4;  // references to the parent that raise the score

class BackReferenceSearch {
  public:
    BackReferenceSearch(const CollapsedGraph& graph, const Component& component, const Cycle& cycle)
        : graph_(graph),
          component_(component),
          cycle_(cycle),
          holders_(graph::listed_by(component.targets, component.size())),
          roles_(graph, component, holders_),
          is_back_(component.targets.size(), 0),
          has_no_remaining_cycle_(component.size(), 0),
          is_on_cycle_(component.targets.size(), 0),
          work_(component, kMostSearchWork),
          kinds_(graph, component, holders_, roles_, is_on_cycle_, work_) {}

    BackReferences run() {
        for (const std::uint32_t e : cycle_) {
            is_on_cycle_[e] = 1;
        }
        BackReferences best;
        roots_ = roots();
        // The search for nested parents takes longer, so it runs last, within the remaining work
        // limit.
        for (const bool with_inner : {false, true}) {
            for (const std::uint32_t root : roots_) {
                if (!work_.take_passes(kPassesOfRoot)) {
                    break;
                }
                if (with_inner && has_no_remaining_cycle_[root] != 0) {
                    continue;
                }
                BackReferences found = seen_from(root, with_inner);
                if (is_better(found, best)) {
                    best = std::move(found);
                }
            }
        }
        if (!best.kinds.empty()) {
            std::ranges::transform(component_.targets, is_back_.begin(), [&](std::uint32_t target) {
                return node_of(target) == best.parent ? 1 : 0;
            });
            best.on_every_cycle = !still_holds(component_, is_back_);
        }
        return best;
    }

  private:
    [[nodiscard]] std::uint32_t node_of(std::uint32_t position) const {
        return component_.nodes[position];
    }

    [[nodiscard]] const CollapsedEdge& collapsed(std::uint32_t e) const {
        return graph_.edges[component_.edges[e]];
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

    // The candidates for the parent, most likely first.
    [[nodiscard]] std::vector<std::uint32_t> roots() const {
        std::vector<std::uint32_t> roots;
        const auto add = [&](std::uint32_t position) {
            // A dict may be a record to which other records refer, so it may be a parent. A bound
            // method is created when it is looked up, so nothing but its holders keeps it alive.
            if (!graph_.is(node_of(position), NodeKind::bound_method) &&
                (!is_container(graph_, node_of(position)) ||
                 graph_.is(node_of(position), NodeKind::dict)) &&
                std::ranges::find(roots, position) == roots.end()) {
                roots.push_back(position);
            }
        };
        for (std::size_t i = 0; i < std::min(cycle_.size(), kMostOfCycle); ++i) {
            add(component_.holder[cycle_[i]]);
            add(top_of(cycle_[i]));
        }
        std::vector<std::uint32_t> most_referred_to;
        for (std::uint32_t n = 0; n < component_.size(); ++n) {
            if (!is_container(graph_, node_of(n))) {
                most_referred_to.push_back(n);
            }
        }
        std::ranges::stable_sort(most_referred_to, std::greater{}, [&](std::uint32_t n) {
            return holders_.of(n).size();
        });
        most_referred_to.resize(std::min(most_referred_to.size(), kMostReferredTo));
        std::ranges::for_each(most_referred_to, add);
        return roots;
    }

    // Follows a chain of attributes with the same name as `e`. Returns the last object or, if the
    // chain is a cycle, the first object that occurs twice.
    [[nodiscard]] std::uint32_t top_of(std::uint32_t e) const {
        std::uint32_t node = component_.targets[e];
        if (!is_attribute(graph_, component_.edges[e])) {
            return node;
        }
        const model::StringId name = collapsed(e).label.name;
        const std::string_view plain_name = roles_.plain_name(e);
        std::unordered_set<std::uint32_t> seen;
        while (seen.size() < kFarthestClimb && seen.insert(node).second) {
            node = next_of_name(node, name, plain_name);
        }
        return node;
    }

    // Looks for an attribute of `node` with the plain name `plain_name`. Returns the attribute's
    // target, or `node` if there is no such attribute. `name` is the id of an attribute name with
    // this plain name. Ids are compared first, because that is faster than comparing strings.
    [[nodiscard]] std::uint32_t next_of_name(std::uint32_t node,
                                             model::StringId name,
                                             std::string_view plain_name) const {
        std::uint32_t next = node;
        for (std::uint32_t o = component_.first[node]; o < component_.first[node + 1]; ++o) {
            if (is_attribute(graph_, component_.edges[o]) &&
                (collapsed(o).label.name == name || roles_.plain_name(o) == plain_name)) {
                next = component_.targets[o];
            }
        }
        return next;
    }

    // True if `root` was probably created for one of the objects to which it refers, and is held
    // only by that object and its children: a context that is created for a model and stored in
    // each of its layers. If its holders referred to it weakly, nothing would keep `root` alive.
    // References from objects that `root` reaches without the objects that it received do not
    // count, because these objects do not keep `root` alive. If the only other holder is the object
    // that `root` received, the two may as well have been created the other way round.
    [[nodiscard]] bool is_created_for_child(std::uint32_t root) {
        const std::vector<char> children = children_of(root);
        std::set<std::uint32_t> holders;
        std::size_t references = 0;
        for (const std::uint32_t e : holders_.of(root)) {
            if (component_.structural[e] != 0) {
                continue;
            }
            ++references;
            if (children[component_.holder[e]] != 0) {
                continue;
            }
            if (!was_passed(e) || kinds_.score_alone(e) >= patterns::kKnownDirection) {
                return false;
            }
            holders.insert(component_.holder[e]);
        }
        for (std::uint32_t e = component_.first[root]; e < component_.first[root + 1]; ++e) {
            const bool is_pair = holders == std::set<std::uint32_t>{component_.targets[e]};
            if (references > 1 && !holders.empty() && !is_pair && was_passed(e) &&
                reaches(component_.targets[e], holders, root)) {
                return true;
            }
        }
        return false;
    }

    // Marks the objects that can be reached from `root` without the objects that it received.
    [[nodiscard]] std::vector<char> children_of(std::uint32_t root) const {
        std::vector<char> seen(component_.size(), 0);
        std::vector<std::uint32_t> waiting;
        const auto add_targets = [&](std::uint32_t node) {
            for (std::uint32_t e = component_.first[node]; e < component_.first[node + 1]; ++e) {
                const std::uint32_t target = component_.targets[e];
                if (target != root && (node != root || !was_passed(e)) &&
                    std::exchange(seen[target], char{1}) == 0) {
                    waiting.push_back(target);
                }
            }
        };
        add_targets(root);
        while (!waiting.empty()) {
            const std::uint32_t node = waiting.back();
            waiting.pop_back();
            add_targets(node);
        }
        return seen;
    }

    // True if the attribute `e` stores an object that existed before, according to the code.
    [[nodiscard]] bool was_passed(std::uint32_t e) const {
        const model::AttributeSite* const site = site_of(graph_, component_.edges[e]);
        return site != nullptr && site->value == model::ValueOrigin::taken &&
               !site->holder_made_by_target &&
               !is_container(graph_, node_of(component_.targets[e]));
    }

    // True if all of `nodes` can be reached from `start` without passing through `without`.
    [[nodiscard]] bool reaches(std::uint32_t start,
                               std::set<std::uint32_t> nodes,
                               std::uint32_t without) const {
        std::vector<char> seen(component_.size(), 0);
        std::vector<std::uint32_t> waiting{start};
        seen[without] = 1;
        while (!waiting.empty() && !nodes.empty()) {
            const std::uint32_t node = waiting.back();
            waiting.pop_back();
            if (std::exchange(seen[node], char{1}) == 0) {
                nodes.erase(node);
                for (std::uint32_t e = component_.first[node]; e < component_.first[node + 1];
                     ++e) {
                    waiting.push_back(component_.targets[e]);
                }
            }
        }
        return nodes.empty();
    }

    // If `with_inner` is false, returns the back references to `root`, or nothing if removing them
    // leaves a cycle. If `with_inner` is true, returns nothing unless cycles remain. To break the
    // remaining cycles, adds the back references to further parents.
    BackReferences seen_from(std::uint32_t root, bool with_inner) {
        std::vector<std::uint32_t> back = ways_back(component_, root);
        mark(back);
        const bool remains = !back.empty() && still_holds(component_, is_back_);
        has_no_remaining_cycle_[root] = remains ? 0 : 1;
        if (back.empty() || remains != with_inner || is_created_for_child(root)) {
            return {};
        }
        if (with_inner) {
            back = with_inner_parents(root, std::move(back));
            mark(back);
        }
        BackReferences found{.parent = node_of(root), .kinds = kinds_.kinds_of(back, is_back_)};
        std::ranges::stable_sort(found.kinds, std::greater{}, [this](const Candidate& kind) {
            return is_on_cycle_[kind.edges.front()] != 0;  // these are listed first
        });
        if (found.kinds.empty()) {
            return found;
        }
        drop_needless(found.kinds);
        kinds_.sort_for_reader(found.kinds, found.parent);
        found.score = score_of(kinds_.roles_of(found.kinds),
                               std::ranges::count_if(back, [&](std::uint32_t e) {
                                   return component_.targets[e] == root;
                               }));
        return found;
    }

    // Returns `back` and the back references to further parents on the remaining cycles, adding one
    // parent at a time. Empty if cycles still remain, or if some object would no longer be
    // reachable from `root`.
    std::vector<std::uint32_t> with_inner_parents(std::uint32_t root,
                                                  std::vector<std::uint32_t> back) {
        mark(back);
        for (std::size_t level = 0; level < kMostInnerParents; ++level) {
            std::vector<std::uint32_t> best;
            int best_score = -1;
            for (const std::uint32_t inner : roots_) {
                if (inner == root || !work_.take_passes(kPassesOfRoot)) {
                    continue;
                }
                mark(back);
                std::vector<std::uint32_t> all = ways_back(component_, inner, is_back_);
                const auto to_inner = std::ranges::count_if(
                    all, [&](std::uint32_t e) { return component_.targets[e] == inner; });
                const auto added = static_cast<std::ptrdiff_t>(all.size());
                all.insert(all.end(), back.begin(), back.end());
                mark(all);
                all = with_same_names(all);
                mark(all);
                if (added == 0 || !reaches_all(component_, root, is_back_)) {
                    continue;
                }
                const std::vector<Candidate> kinds = kinds_.kinds_of(all, is_back_);
                const int score = score_of(kinds_.roles_of(kinds), to_inner);
                if (!kinds.empty() && score > best_score) {
                    best_score = score;
                    best = std::move(all);
                }
            }
            mark(best);
            if (best.empty() || !still_holds(component_, is_back_)) {
                return best;
            }
            back = std::move(best);
        }
        return {};
    }

    // Erases from `back` the references that a program cannot change, and marks the rest in
    // is_back_.
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

    // Collects the names of the attributes that store the references in `back`, directly or in
    // containers. Returns `back` and all other references stored in attributes with these names.
    [[nodiscard]] std::vector<std::uint32_t> with_same_names(
        const std::vector<std::uint32_t>& back) const {
        std::set<std::string_view> names;
        for (const std::uint32_t e : back) {
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

    // Removes the kinds that need not be cut, because the other kinds break all cycles that retain
    // memory. Starts with the last kind.
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
        for (std::size_t i = kinds.size(); i-- > 0 && kinds.size() > 1 && work_.take_passes(1);) {
            mark_kind(kinds[i], 0);
            if (still_holds(component_, is_back_)) {
                mark_kind(kinds[i], 1);
            } else {
                kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
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
    const Cycle& cycle_;
    std::vector<std::uint32_t> roots_;
    graph::Rows holders_;  // per node: the references to the node
    Roles roles_;
    std::vector<char> is_back_;  // per reference: leads back to the object tried last
    // Per node: zero if removing the back references to the node leaves a cycle, otherwise nonzero.
    std::vector<char> has_no_remaining_cycle_;
    std::vector<char> is_on_cycle_;
    WorkLimit work_;
    BackReferenceKinds kinds_;
};

}  // namespace

BackReferences find_back_references(const CollapsedGraph& graph,
                                    const Component& component,
                                    const Cycle& cycle) {
    return BackReferenceSearch(graph, component, cycle).run();
}

}  // namespace cyclewatch::analysis
