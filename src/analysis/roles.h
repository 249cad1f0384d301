// SPDX-License-Identifier: Apache-2.0
// Groups references that have the same meaning in a program, such as `_parent` in four classes, or
// all items of a list of children.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/collapsed_graph.h"
#include "analysis/component.h"

namespace cyclewatch::analysis {

// True for an item that has no name, such as `[3]` or an element of a set.
[[nodiscard]] bool is_anonymous_item(const CollapsedGraph& graph, EdgeIx edge);

// The references that lead to each node.
using Holders = graph::Rows<MemberIx, InnerEdgeIx>;

// All arguments of the constructor must outlive this object.
class Roles {
  public:
    static constexpr int kDeepestContainer = 3;  // a list of tuples in a dict

    Roles(const Component& component, const Holders& holders)
        : graph_(component.graph), component_(component), holders_(holders) {}

    // `_parent`, `_Child__parent` (the mangled form of `__parent`) and `parent` have the same plain
    // name.
    [[nodiscard]] std::string_view plain_name(InnerEdgeIx e) const;

    // The plain name of `e` if `e` is an attribute. If `e` is an item without a name, the plain
    // name of the attribute that refers to the container. Otherwise empty.
    [[nodiscard]] std::string_view attribute_behind(InnerEdgeIx e) const;

    // Returns the same text for all references that one line of code creates, regardless of their
    // targets. If the line is known, the classes of the holders do not matter either.
    [[nodiscard]] std::string kind(InnerEdgeIx e) const;

    // Returns the same text for all attributes with the same plain name, regardless of the class,
    // and for all other references with the same label. An attribute that refers to a container has
    // a different role from one that refers to an object.
    [[nodiscard]] std::string role(InnerEdgeIx e) const;

  private:
    const CollapsedGraph& graph_;
    const Component& component_;
    const Holders& holders_;
};

}  // namespace cyclewatch::analysis
