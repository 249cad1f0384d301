// SPDX-License-Identifier: Apache-2.0
// Which references of a component are one idea in the code: `_parent` in four classes, a list of
// children whatever its items.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/adjacency.h"
#include "analysis/collapsed_graph.h"
#include "analysis/component.h"

namespace cyclewatch::analysis {

[[nodiscard]] bool is_attribute(model::EdgeKind kind);

// True for an item that no reader would name by itself: `[3]`, an element of a set.
[[nodiscard]] bool is_anonymous_item(const CollapsedGraph& graph, std::uint32_t edge);

// References are positions in the component. What is passed to the constructor must outlive this.
class Roles {
  public:
    static constexpr int kDeepestContainer = 3;  // a list of tuples in a dict

    // `holders`: per node of the component, the references to it.
    Roles(const CollapsedGraph& graph, const Component& component, const Rows<>& holders)
        : graph_(graph), component_(component), holders_(holders) {}

    // `_parent`, `_Child__parent` (as Python mangles `__parent`) and `parent` are one name.
    [[nodiscard]] std::string_view plain_name(std::uint32_t e) const;

    // The plain name of the attribute that holds `e`, or its container; empty if there is none.
    [[nodiscard]] std::string_view attribute_behind(std::uint32_t e) const;

    // References of one kind are made by one line of code, whatever they lead to.
    [[nodiscard]] std::string kind(std::uint32_t e) const;

    // References that one decision of a programmer made, whatever class has them.
    [[nodiscard]] std::string role(std::uint32_t e) const;

  private:
    [[nodiscard]] const CollapsedEdge& collapsed(std::uint32_t e) const {
        return graph_.edges[component_.edges[e]];
    }

    const CollapsedGraph& graph_;
    const Component& component_;
    const Rows<>& holders_;
};

}  // namespace cyclewatch::analysis
