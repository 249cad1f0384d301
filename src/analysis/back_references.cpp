// SPDX-License-Identifier: Apache-2.0
#include "analysis/back_references.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/roles.h"
#include "analysis/ways_back.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;

constexpr std::size_t kMostOfCycle = 8;      // references of the cycle whose objects are tried
constexpr std::size_t kMostReferredTo = 12;  // objects tried because many references lead to them
constexpr std::size_t kMostInnerParents = 4;
constexpr std::size_t kFarthestClimb = 10'000;
constexpr std::uint64_t kPassesOfRoot = 4;      // over the component, approximately
constexpr std::uint64_t kMostWork = 4'000'000;  // nodes and references visited
constexpr std::size_t kMostThatCount = 4;       // references to the parent

class Search {
  public:
    Search(const CollapsedGraph& graph, const Component& component, const Cycle& cycle)
        : graph_(graph),
          component_(component),
          cycle_(cycle),
          holders_(graph::listed_by(component.targets, component.size())),
          roles_(graph, component, holders_),
          is_back_(component.targets.size(), 0),
          has_no_remaining_cycle_(component.size(), 0),
          is_on_cycle_(component.targets.size(), 0) {}

    BackReferences run() {
        for (const std::uint32_t e : cycle_) {
            is_on_cycle_[e] = 1;
        }
        BackReferences best;
        roots_ = roots();
        std::vector<std::uint32_t> most_referred_to = roots_;
        std::ranges::stable_sort(most_referred_to, std::greater{}, [this](std::uint32_t n) {
            return holders_.of(n).size();
        });
        // Parents inside a parent take longer, so they are searched for with the remaining work.
        for (const bool with_inner : {false, true}) {
            for (const std::uint32_t root : with_inner ? most_referred_to : roots_) {
                if (!take_passes(kPassesOfRoot)) {
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

    // Subtracts passes over the component from the remaining work. Returns false if too little
    // remains.
    bool take_passes(std::uint64_t passes) {
        const std::uint64_t work = passes * (component_.size() + component_.targets.size());
        const bool enough = work <= work_left_;
        work_left_ -= enough ? work : 0;
        return enough;
    }

    // A higher score is better, unless one set of roles contains the other: then the smaller set is
    // better, because the additional roles are not needed.
    [[nodiscard]] bool is_better(const BackReferences& found, const BackReferences& best) const {
        if (found.kinds.empty() || best.kinds.empty()) {
            return !found.kinds.empty();
        }
        const auto is_part_of = [](const auto& roles, const auto& all) {
            return roles.size() < all.size() && std::ranges::all_of(roles, [&](const auto& role) {
                       return all.contains(role.first);
                   });
        };
        const auto roles = roles_of(found.kinds);
        const auto best_roles = roles_of(best.kinds);
        if (is_part_of(roles, best_roles) || is_part_of(best_roles, roles)) {
            return roles.size() < best_roles.size();
        }
        // The order of the objects depends on earlier collections; that of the names does not.
        return found.score != best.score ? found.score > best.score : roles < best_roles;
    }

    // The candidates for the parent, most likely first.
    [[nodiscard]] std::vector<std::uint32_t> roots() const {
        std::vector<std::uint32_t> roots;
        const auto add = [&](std::uint32_t position) {
            // A dict may be a record that other records refer to.
            if ((!is_container(graph_, node_of(position)) ||
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

    // The last object in a chain of attributes with the same name as `e`. If the chain is a cycle,
    // the object after kFarthestClimb references.
    [[nodiscard]] std::uint32_t top_of(std::uint32_t e) const {
        std::uint32_t node = component_.targets[e];
        if (!is_attribute(graph_, component_.edges[e])) {
            return node;
        }
        const model::StringId name = collapsed(e).label.name;
        const std::string_view plain_name = roles_.plain_name(e);
        // Brent, "An improved Monte Carlo factorization algorithm", 1980: `earlier` is the object
        // at the last step that is a power of two. Full turns around the cycle are skipped.
        std::uint32_t earlier = node;
        std::size_t since = 0;
        std::size_t power = 1;
        for (std::size_t left = kFarthestClimb; left > 0; --left) {
            const std::uint32_t next = next_of_name(node, name, plain_name);
            if (next == node) {
                break;
            }
            node = next;
            ++since;
            if (node == earlier) {
                left = (left - 1) % since + 1;
            } else if (since == power) {
                earlier = node;
                since = 0;
                power *= 2;
            }
        }
        return node;
    }

    // The object that `node` refers to by an attribute with that plain name; `node` if there is
    // none. `name` is one name with it, which need not be compared as a text.
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

    // `with_inner`: whether cycles remain without the back references to `root`, so that those to
    // further parents are needed as well. Empty if this is not the case.
    BackReferences seen_from(std::uint32_t root, bool with_inner) {
        std::vector<std::uint32_t> back = ways_back(component_, root);
        mark(back);
        const bool remains = !back.empty() && still_holds(component_, is_back_);
        has_no_remaining_cycle_[root] = remains ? 0 : 1;
        if (back.empty() || remains != with_inner) {
            return {};
        }
        if (with_inner) {
            back = with_inner_parents(root, std::move(back));
            mark(back);
        }
        BackReferences found{.parent = node_of(root), .kinds = kinds_of(back)};
        std::ranges::stable_sort(found.kinds, std::greater{}, [&](const Candidate& kind) {
            const std::uint32_t e = kind.edges.front();
            const bool on_cycle = std::ranges::any_of(
                kind.edges, [this](std::uint32_t edge) { return is_on_cycle_[edge] != 0; });
            return std::tuple(on_cycle, component_.targets[e] == root, kind.score, kind.equivalent);
        });
        if (found.kinds.empty()) {
            return found;
        }
        drop_needless(found.kinds);
        sort_for_reader(found);
        found.score =
            score_of(roles_of(found.kinds), std::ranges::count_if(back, [&](std::uint32_t e) {
                         return component_.targets[e] == root;
                     }));
        return found;
    }

    // `back`, and the back references to further parents on the cycles that remain, one parent
    // after the other. Empty if an object would not be reachable from `root`, or cycles remain.
    std::vector<std::uint32_t> with_inner_parents(std::uint32_t root,
                                                  std::vector<std::uint32_t> back) {
        mark(back);
        for (std::size_t level = 0; level < kMostInnerParents; ++level) {
            std::vector<std::uint32_t> best;
            int best_score = -1;
            for (const std::uint32_t inner : roots_) {
                if (inner == root || !take_passes(kPassesOfRoot)) {
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
                const std::vector<Candidate> kinds = kinds_of(all);
                const int score = score_of(roles_of(kinds), to_inner);
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

    // Sorts the kinds with the pattern of the finding first, then those that lead to
    // `found.parent`, then by the number of references to the target's class, then by their own.
    void sort_for_reader(BackReferences& found) const {
        const auto target = [&](const Candidate& kind) {
            return component_.targets[kind.edges.front()];
        };
        std::map<std::string, std::size_t> to_class;
        for (const Candidate& kind : found.kinds) {
            to_class[full_name(graph_, node_of(target(kind)))] += kind.equivalent;
        }
        const std::string_view pattern = found.kinds.front().evidence->pattern;
        std::ranges::stable_sort(found.kinds, std::greater{}, [&](const Candidate& kind) {
            const std::string name = full_name(graph_, node_of(target(kind)));
            return std::tuple(kind.evidence->pattern == pattern,
                              node_of(target(kind)) == found.parent,
                              to_class.at(name),
                              name,
                              kind.equivalent);
        });
    }

    // Removes references that a program cannot change from `back`, and marks the others in
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

    // `back`, and all references stored, directly or in containers, in attributes with the same
    // names.
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

    // One candidate per kind of reference in `back`; empty if one of them must not be suggested.
    std::vector<Candidate> kinds_of(const std::vector<std::uint32_t>& back) {
        std::map<std::string, Candidate> kinds;
        std::map<std::pair<std::string, std::string>, std::string> ends;
        for (const std::uint32_t e : back) {
            const std::uint32_t item = outermost(e);
            const Candidate judged = judge(e, item);
            if (judged.score < patterns::kWorthCutting || judged.evidence == nullptr) {
                return {};
            }
            const std::string from = full_name(graph_, node_of(component_.holder[item]));
            const std::string to = full_name(graph_, node_of(component_.targets[e]));
            ends.emplace(std::pair(from, to), roles_.role(item));
            const auto opposite = ends.find(std::pair(to, from));
            if (from != to && opposite != ends.end() && opposite->second != roles_.role(item)) {
                return {};  // both ends of a pair
            }
            kinds.try_emplace(roles_.kind(item), judged).first->second.edges.push_back(item);
        }
        std::vector<Candidate> result;
        for (auto& [text, kind] : kinds) {
            std::ranges::sort(kind.edges);
            kind.edges.erase(std::unique(kind.edges.begin(), kind.edges.end()), kind.edges.end());
            kind.equivalent = kind.edges.size();
            const auto ends_of = [&](std::uint32_t e) {
                return std::pair(full_name(graph_, node_of(component_.holder[e])),
                                 full_name(graph_, node_of(component_.targets[e])));
            };
            std::ranges::stable_sort(kind.edges, {}, [&](std::uint32_t e) {
                return std::pair(is_on_cycle_[e] == 0, ends_of(e));
            });
            std::set<std::string> classes;
            std::set<std::pair<std::string, std::string>> listed;
            std::stable_partition(kind.edges.begin(), kind.edges.end(), [&](std::uint32_t e) {
                const auto pair = ends_of(e);
                classes.insert(pair.first);
                return listed.insert(pair).second;
            });
            kind.classes = classes.size();
            kind.listed = listed.size();
            result.push_back(std::move(kind));
        }
        return result;
    }

    // The score of each role, which is that of its best kind.
    [[nodiscard]] std::map<std::string, int> roles_of(const std::vector<Candidate>& kinds) const {
        std::map<std::string, int> roles;
        for (const Candidate& kind : kinds) {
            int& score =
                roles.try_emplace(roles_.role(kind.edges.front()), kind.score).first->second;
            score = std::max(score, kind.score);
        }
        return roles;
    }

    // Removes kinds that only break cycles without memory, starting with the last one.
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
        for (std::size_t i = kinds.size(); i-- > 0 && kinds.size() > 1 && take_passes(1);) {
            mark_kind(kinds[i], 0);
            if (still_holds(component_, is_back_)) {
                mark_kind(kinds[i], 1);
            } else {
                kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    // `to_parent`: the number of references to the parent itself.
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

    // The reference to change in order to remove `e`: the attribute that refers to the container,
    // if the container holds only back references.
    std::uint32_t outermost(std::uint32_t e) {
        std::uint32_t keeper = e;
        for (int steps = 0; steps < Roles::kDeepestContainer; ++steps) {
            const std::uint32_t container = component_.holder[keeper];
            if (!is_anonymous_item(graph_, component_.edges[keeper]) ||
                !leads_only_back(container, 0)) {
                break;
            }
            keeper = holders_.of(container).front();
        }
        return is_attribute(graph_, component_.edges[keeper]) ? keeper : e;
    }

    // True if there is only one reference to the object, and all of the object's references are
    // back references.
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

    // A candidate for `item`, the reference to change in order to remove `e`. Its score and
    // evidence are those of `item` or `e`, depending on which has the higher score.
    Candidate judge(std::uint32_t e, std::uint32_t item) {
        Candidate judged = judged_alone(item);
        judged.edges.clear();
        if (judged.evidence == nullptr || judged.evidence == &patterns::kCreated) {
            judged.evidence = nullptr;  // the holder is the parent
            return judged;
        }
        if (const Candidate& inner = judged_alone(e); inner.score > judged.score) {
            judged.score = inner.score;
            judged.evidence = inner.evidence;
        }
        const std::string_view pattern = judged.evidence->pattern;
        if (is_container(graph_, node_of(component_.targets[item])) && item != e) {
            judged.evidence = &patterns::kBackToParentInList;
        } else if (pattern == patterns::kMutual.pattern ||
                   pattern == patterns::kListOfHandles.pattern ||
                   pattern == patterns::kMember.pattern) {
            judged.evidence = &patterns::kBackToParent;  // the parent is now known
        }
        return judged;
    }

    const Candidate& judged_alone(std::uint32_t e) {
        const auto [entry, fresh] = judged_.try_emplace(kind_of(graph_, component_, e));
        if (fresh && take_passes(1)) {
            entry->second = judge_reference(graph_, component_, e);
        }
        return entry->second;
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    const Cycle& cycle_;
    std::vector<std::uint32_t> roots_;
    graph::Rows<> holders_;  // per node: of the references to it
    Roles roles_;
    std::vector<char> is_back_;  // per reference: seen from the object tried last
    // Per node: without the back references to it, no cycle remains, or there are none.
    std::vector<char> has_no_remaining_cycle_;
    std::vector<char> is_on_cycle_;
    std::uint64_t work_left_ = kMostWork;
    std::map<ReferenceKind, Candidate> judged_;
};

}  // namespace

BackReferences find_back_references(const CollapsedGraph& graph,
                                    const Component& component,
                                    const Cycle& cycle) {
    return Search(graph, component, cycle).run();
}

}  // namespace cyclewatch::analysis
