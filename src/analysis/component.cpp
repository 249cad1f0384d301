// SPDX-License-Identifier: Apache-2.0
#include "analysis/component.h"

#include <algorithm>
#include <numeric>

namespace cyclewatch::analysis {

ComponentCutter::ComponentCutter(const CollapsedGraph& graph,
                                 const StrongComponents& components,
                                 const RetainedSize& held,
                                 std::span<const char> is_owner)
    : graph_(graph),
      components_(components),
      held_(held),
      is_owner_(is_owner),
      members_(listed_by(components.of, components.count())),
      position_(graph.nodes()) {}

Component ComponentCutter::cut_out(std::uint32_t component) {
    Component result;
    const std::span<const std::uint32_t> members = members_.of(component);
    result.nodes.assign(members.begin(), members.end());
    // By what they are, not by their numbers: everything later that takes "the first" relies on it.
    std::stable_sort(
        result.nodes.begin(), result.nodes.end(), [this](std::uint32_t a, std::uint32_t b) {
            return graph_.color[a] < graph_.color[b];
        });
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        position_[result.nodes[i]] = i;
    }
    result.first.push_back(0);
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        const std::uint32_t node = result.nodes[i];
        bool leads_out = is_owner_[node] != 0;
        for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
            const std::uint32_t target = graph_.targets[e];
            if (components_.of[target] == component) {
                result.targets.push_back(position_[target]);
                result.edges.push_back(e);
                result.holder.push_back(i);
                result.structural.push_back(graph_.edges[e].structural ? 1 : 0);
            } else {
                leads_out = leads_out || held_.leads_to_owner(target);
            }
        }
        result.first.push_back(static_cast<std::uint32_t>(result.targets.size()));
        result.leads_out.push_back(leads_out ? 1 : 0);
        result.kept.push_back(held_.kept_by(node));
    }
    return result;
}

namespace {

// What is left of a component without the references marked in `dead`.
struct Remainder {
    StrongComponents parts;
    std::vector<char> leads;  // per part: to an owner

    [[nodiscard]] bool holds(std::uint32_t part) const {
        return parts.cyclic[part] && leads[part] != 0;
    }
};

Remainder remainder_of(const Component& component, std::span<const char> dead) {
    Remainder rest{strong_components(component.view(), dead), {}};
    const StrongComponents& parts = rest.parts;
    rest.leads.assign(parts.count(), 0);
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        rest.leads[parts.of[n]] |= component.leads_out[n];
    }
    // Parts are numbered against the references, so one pass over them in rising order is enough.
    std::vector<std::uint32_t> by_part(component.size());
    std::vector<std::uint32_t> next(parts.count() + 1, 0);
    for (const std::uint32_t part : parts.of) {
        ++next[part + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        by_part[next[parts.of[n]]++] = n;
    }
    for (const std::uint32_t n : by_part) {
        for (std::uint32_t e = component.first[n]; e < component.first[n + 1]; ++e) {
            if (dead.empty() || dead[e] == 0) {
                rest.leads[parts.of[n]] |= rest.leads[parts.of[component.targets[e]]];
            }
        }
    }
    return rest;
}

// True if a cycle through `node` is left.
bool is_on_cycle(const Component& component, std::uint32_t node, std::span<const char> dead) {
    std::vector<char> seen(component.size(), 0);
    std::vector<std::uint32_t> open{node};
    while (!open.empty()) {
        const std::uint32_t holder = open.back();
        open.pop_back();
        for (std::uint32_t e = component.first[holder]; e < component.first[holder + 1]; ++e) {
            if (!dead.empty() && dead[e] != 0) {
                continue;
            }
            const std::uint32_t target = component.targets[e];
            if (target == node) {
                return true;
            }
            if (seen[target] == 0) {
                seen[target] = 1;
                open.push_back(target);
            }
        }
    }
    return false;
}

}  // namespace

bool still_holds(const Component& component, std::span<const char> dead) {
    // A way from an owner's holder back to it is found sooner than all parts.
    const auto holder = std::find(component.leads_out.begin(), component.leads_out.end(), 1);
    if (holder != component.leads_out.end() &&
        is_on_cycle(
            component, static_cast<std::uint32_t>(holder - component.leads_out.begin()), dead)) {
        return true;
    }
    const Remainder rest = remainder_of(component, dead);
    for (std::uint32_t part = 0; part < rest.parts.count(); ++part) {
        if (rest.holds(part)) {
            return true;
        }
    }
    return false;
}

}  // namespace cyclewatch::analysis
