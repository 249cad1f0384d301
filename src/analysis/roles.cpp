// SPDX-License-Identifier: Apache-2.0
#include "analysis/roles.h"

#include <algorithm>

#include "analysis/names.h"

namespace cyclewatch::analysis {

bool is_anonymous_item(const CollapsedGraph& graph, EdgeIx edge) {
    return is_container(graph, graph.edges[edge].holder) &&
           graph.edges[edge].label.kind != model::EdgeKind::key_value;
}

std::string_view Roles::plain_name(InnerEdgeIx e) const {
    return analysis::plain_name(graph_.label_name(component_.edges[e]));
}

std::string_view Roles::attribute_behind(InnerEdgeIx e) const {
    for (int steps = 0; steps < kDeepestContainer; ++steps) {
        const auto keepers = holders_.of(component_.holder[e]);
        if (!is_anonymous_item(graph_, component_.edges[e]) || keepers.size() != 1) {
            break;
        }
        e = keepers.front();
    }
    return is_attribute(graph_, component_.edges[e]) ? plain_name(e) : std::string_view{};
}

std::string Roles::kind(InnerEdgeIx e) const {
    std::string text = label_of_many(graph_, component_.edges[e]);
    for (int steps = 0; steps < kDeepestContainer; ++steps) {
        const auto keepers = holders_.of(component_.holder[e]);
        if (!is_container(graph_, component_.holder_node(e)) || keepers.size() != 1) {
            break;
        }
        e = keepers.front();
        text += " " + label_of_many(graph_, component_.edges[e]);
    }
    const NodeIx holder = component_.holder_node(e);
    const model::AttributeSite* const site = site_of(graph_, component_.edges[e]);
    const std::string line = site != nullptr ? place_of(graph_, site->location)
                             : graph_.is(holder, model::NodeKind::function)
                                 ? location_of_node(graph_, holder)
                                 : "";
    return text + " " + (line.empty() ? full_name(graph_, holder) : line);
}

std::string Roles::role(InnerEdgeIx e) const {
    if (!is_attribute(graph_, component_.edges[e])) {
        return label_of_many(graph_, component_.edges[e]);
    }
    const bool many = is_container(graph_, component_.target_node(e));
    return std::string(plain_name(e)) + (many ? "[]" : "");
}

}  // namespace cyclewatch::analysis
