// SPDX-License-Identifier: Apache-2.0
#include "analysis/removable_references.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

using model::EdgeKind;
using model::NodeKind;

constexpr std::size_t kMostKinds = 6;

class RemovableReferences {
  public:
    RemovableReferences(const CollapsedGraph& graph, const Component& component)
        : graph_(graph),
          component_(component),
          is_hook_(component.size(), 0),
          is_removable_(component.targets.size(), 0) {
        for (std::uint32_t e = 0; e < component_.targets.size(); ++e) {
            if (label(e).kind == EdgeKind::hook) {
                is_hook_[component_.targets[e]] = 1;
            }
        }
        for (std::uint32_t e = 0; e < component_.targets.size(); ++e) {
            is_removable_[e] = component_.structural[e] == 0 && is_removable(e) ? 1 : 0;
        }
    }

    [[nodiscard]] std::vector<Candidate> find(const Cycle& cycle) {
        const bool is_on_cycle =
            std::ranges::any_of(cycle, [this](std::uint32_t e) { return is_removable_[e] != 0; });
        if (!is_on_cycle || still_holds(component_, is_removable_)) {
            return {};
        }
        std::vector<Candidate> kinds = all_kinds();
        if (kinds.size() > kMostKinds) {
            return {};
        }
        drop_needless(kinds);
        std::ranges::stable_sort(kinds, std::greater{}, [&](const Candidate& kind) {
            return std::ranges::find(cycle, kind.edges.front()) != cycle.end();
        });
        return kinds;
    }

  private:
    [[nodiscard]] const model::EdgeLabel& label(std::uint32_t e) const {
        return graph_.edges[component_.edges[e]].label;
    }

    [[nodiscard]] bool is_removable(std::uint32_t e) const {
        const std::uint32_t holder = component_.nodes[component_.holder[e]];
        const std::uint32_t target = component_.nodes[component_.targets[e]];
        const auto can_be_changed = [this](std::uint32_t hook) {
            return is_callable(graph_, hook) && !calls_user_function(graph_, hook);
        };
        if (is_hook_[component_.holder[e]] != 0 && can_be_changed(holder)) {
            return true;
        }
        if (label(e).kind == EdgeKind::hook) {
            return !can_be_changed(target);
        }
        return is_attribute(graph_, component_.edges[e]) && !graph_.is(holder, NodeKind::type) &&
               (graph_.is(target, NodeKind::frame) || graph_.is(target, NodeKind::traceback));
    }

    // Empty if one of the references must not be suggested.
    [[nodiscard]] std::vector<Candidate> all_kinds() const {
        std::map<ReferenceKind, Candidate> kinds;
        for (std::uint32_t e = 0; e < component_.targets.size(); ++e) {
            if (is_removable_[e] == 0) {
                continue;
            }
            const auto [entry, fresh] = kinds.try_emplace(kind_of(graph_, component_, e));
            if (fresh) {
                entry->second = judge_reference(graph_, component_, e);
                if (entry->second.evidence == nullptr ||
                    entry->second.score < patterns::kWorthCutting) {
                    return {};
                }
            } else {
                entry->second.edges.push_back(e);
            }
            entry->second.equivalent = entry->second.edges.size();
        }
        std::vector<Candidate> result;
        result.reserve(kinds.size());
        for (auto& [kind, candidate] : kinds) {
            result.push_back(std::move(candidate));
        }
        std::ranges::stable_sort(result, {}, [this](const Candidate& candidate) {
            return dotted(graph_, component_.edges[candidate.edges.front()]);
        });
        return result;
    }

    // Keeps the kinds that are needed to break all cycles. Starts with the weakest evidence.
    void drop_needless(std::vector<Candidate>& kinds) {
        std::ranges::stable_sort(kinds, std::greater{}, &Candidate::score);
        const auto mark = [this](const Candidate& kind, char value) {
            for (const std::uint32_t e : kind.edges) {
                is_removable_[e] = value;
            }
        };
        for (std::size_t i = kinds.size(); i-- > 0 && kinds.size() > 1;) {
            mark(kinds[i], 0);
            if (still_holds(component_, is_removable_)) {
                mark(kinds[i], 1);
            } else {
                kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    std::vector<char> is_hook_;       // per node: some object calls it as a hook
    std::vector<char> is_removable_;  // per reference
};

}  // namespace

std::vector<Candidate> find_removable_references(const CollapsedGraph& graph,
                                                 const Component& component,
                                                 const Cycle& cycle) {
    return RemovableReferences(graph, component).find(cycle);
}

}  // namespace cyclewatch::analysis
