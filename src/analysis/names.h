// SPDX-License-Identifier: Apache-2.0
// What nodes and references of the collapsed graph are called in a report.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/collapsed_graph.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// "mymodel.Engine", "function mymodel.Engine.__init__.<lambda>", "frame of mymodel.step", "builtin
// method list.remove", "locals() of mymodel.Engine.run".
[[nodiscard]] std::string full_name(const CollapsedGraph& graph, std::uint32_t node);

// The last part of the name: "Engine", "<lambda>", "step", "list", "locals()".
[[nodiscard]] std::string short_name(const CollapsedGraph& graph, std::uint32_t node);

// ".callbacks", "closure:self", "[3]".
[[nodiscard]] std::string label_of(const CollapsedGraph& graph, std::uint32_t edge);
// The same with [x] in place of an index.
[[nodiscard]] std::string label_of_many(const CollapsedGraph& graph, std::uint32_t edge);
// What of it a signature goes by: model::generic_label_text().
[[nodiscard]] std::string generic_label_of(const CollapsedGraph& graph, std::uint32_t edge);

// "Engine.callbacks", "<lambda>.closure:self", "[0]" (of containers only the label).
[[nodiscard]] std::string step_text(const CollapsedGraph& graph, std::uint32_t edge);

// "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine"; the middle of a long cycle is
// left out. `cycle`: edges in order, the target of the last is the holder of the first.
[[nodiscard]] std::string cycle_text(const CollapsedGraph& graph,
                                     std::span<const std::uint32_t> cycle);

// "path:line" of the code in which the reference is made: the line that stores the attribute, the
// def of the function that captures or is the attribute, the callable that a hook is, the frame
// whose local it is, else the class of the holder, else where the holder was allocated; "" if not
// known.
[[nodiscard]] std::string location_of(const CollapsedGraph& graph, std::uint32_t edge);

// What is known of the code that stores the attribute; null if nothing is, and for every other kind
// of reference.
[[nodiscard]] const model::AttributeSite* site_of(const CollapsedGraph& graph, std::uint32_t edge);

// "path:line", "path" if the line is not known, or "".
[[nodiscard]] std::string place_of(const CollapsedGraph& graph,
                                   const model::SourceLocation& location);

// Where the code or class of `node` stands: "path:line", or "".
[[nodiscard]] std::string location_of_node(const CollapsedGraph& graph, std::uint32_t node);

// Where the object of `owner` was allocated: "path:line", or "".
[[nodiscard]] std::string allocation_of(const CollapsedGraph& graph,
                                        const model::DeviceOwner& owner);

// The same of a reference out of a container that `keeper` leads to: where the container has no
// place of its own that of `keeper`, unless that is in the standard library. `keeper` may be kNone.
[[nodiscard]] std::string location_of(const CollapsedGraph& graph,
                                      std::uint32_t edge,
                                      std::uint32_t keeper);

// The whole of it, without a reason.
[[nodiscard]] model::Reference reference_of(const CollapsedGraph& graph, std::uint32_t edge);

// A list, dict, tuple or set: an object that people do not name.
[[nodiscard]] bool is_container(const CollapsedGraph& graph, std::uint32_t node);

}  // namespace cyclewatch::analysis
