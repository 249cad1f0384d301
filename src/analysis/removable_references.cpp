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
    RemovableReferences(const Component& component)
        : graph_(component.graph), component_(component) {
        for (const InnerEdgeIx e : component_.all_edges()) {
            if (component_.edge(e).label.kind == EdgeKind::hook) {
                hooks_.insert(component_.targets[e]);
            }
        }
        for (const InnerEdgeIx e : component_.all_edges()) {
            if (!component_.structural.contains(e) && is_removable(e)) {
                removable_.insert(e);
            }
        }
    }

    [[nodiscard]] std::vector<InnerCandidate> find(const Cycle& cycle) const {
        const bool is_on_cycle =
            std::ranges::any_of(cycle, [this](InnerEdgeIx e) { return removable_.contains(e); });
        if (!is_on_cycle || still_holds(component_, removable_)) {
            return {};
        }
        std::vector<InnerCandidate> kinds = all_kinds();
        if (kinds.size() > kMostKinds) {
            return {};
        }
        std::ranges::stable_sort(kinds, std::greater{}, &Judgment::score);
        WorkLimit unlimited(component_, UINT64_MAX);
        drop_needless(kinds, component_, unlimited);
        std::ranges::stable_sort(kinds, std::greater{}, [&](const InnerCandidate& kind) {
            return std::ranges::find(cycle, kind.edges.front()) != cycle.end();
        });
        return kinds;
    }

  private:
    [[nodiscard]] bool is_removable(InnerEdgeIx e) const {
        const NodeIx holder = component_.holder_node(e);
        const NodeIx target = component_.target_node(e);
        const auto can_be_changed = [this](NodeIx hook) {
            return is_callable(graph_, hook) && !calls_user_function(graph_, hook);
        };
        if (hooks_.contains(component_.holder[e]) && can_be_changed(holder)) {
            return true;
        }
        if (component_.edge(e).label.kind == EdgeKind::hook) {
            return !can_be_changed(target);
        }
        return is_attribute(graph_, component_.edges[e]) && !graph_.is(holder, NodeKind::type) &&
               (graph_.is(target, NodeKind::frame) || graph_.is(target, NodeKind::traceback));
    }

    // Empty if one of the references must not be suggested.
    [[nodiscard]] std::vector<InnerCandidate> all_kinds() const {
        std::map<ReferenceKind, InnerCandidate> kinds;
        for (const InnerEdgeIx e : component_.all_edges()) {
            if (!removable_.contains(e)) {
                continue;
            }
            const auto [entry, fresh] = kinds.try_emplace(kind_of(component_, e));
            if (fresh) {
                entry->second = judge_reference(component_, e);
                if (entry->second.evidence == nullptr ||
                    entry->second.score < patterns::kWorthCutting) {
                    return {};
                }
            } else {
                entry->second.edges.push_back(e);
            }
            entry->second.equivalent = entry->second.edges.size();
        }
        std::vector<InnerCandidate> result;
        result.reserve(kinds.size());
        for (auto& [kind, candidate] : kinds) {
            result.push_back(std::move(candidate));
        }
        std::ranges::stable_sort(result, {}, [this](const InnerCandidate& candidate) {
            return dotted(graph_, component_.edges[candidate.edges.front()]);
        });
        return result;
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    IndexSet<MemberIx> hooks_;
    IndexSet<InnerEdgeIx> removable_;
};

}  // namespace

std::vector<InnerCandidate> find_removable_references(const Component& component,
                                                      const Cycle& cycle) {
    return RemovableReferences(component).find(cycle);
}

}  // namespace cyclewatch::analysis
