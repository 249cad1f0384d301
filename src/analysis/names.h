// SPDX-License-Identifier: Apache-2.0
// Names, labels, source locations and origins of nodes and references of the collapsed graph, as a
// report shows them. References are given as indexes into CollapsedGraph::edges.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/collapsed_graph.h"
#include "base/source_path.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

template <std::size_t size>
[[nodiscard]] bool contains(const std::array<std::string_view, size>& words,
                            std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// True for a list, dict, tuple, set or cell.
[[nodiscard]] bool is_container(const CollapsedGraph& graph, NodeIx node);

// True for functions, bound methods, partials and built-in functions.
[[nodiscard]] bool is_callable(const CollapsedGraph& graph, NodeIx node);

// True for a bound method whose function is defined in a class. Plain functions and classes can be
// bound to an object, too.
[[nodiscard]] bool is_method_of_class(const CollapsedGraph& graph, NodeIx node);

// True for a function with which a library calls a function of the program, such as a hook that
// torch.autograd.graph.register_multi_grad_hook() creates. Known only for cycles that are hidden
// from the collector.
[[nodiscard]] bool calls_user_function(const CollapsedGraph& graph, NodeIx node);

// True for an attribute or a slot.
[[nodiscard]] bool is_attribute(const CollapsedGraph& graph, EdgeIx edge);

// "mymodel.Engine", "function mymodel.Engine.__init__.<lambda>", "frame of mymodel.step", "builtin
// method list.remove", "locals() of mymodel.Engine.run".
[[nodiscard]] std::string full_name(const CollapsedGraph& graph, NodeIx node);

// The last part of the name: "Engine", "<lambda>", "step", "list", "locals()".
[[nodiscard]] std::string short_name(const CollapsedGraph& graph, NodeIx node);

// ".callbacks", "closure:self", "[3]".
[[nodiscard]] std::string label_of(const CollapsedGraph& graph, EdgeIx edge);
// Like label_of(), with [x] instead of the index.
[[nodiscard]] std::string label_of_many(const CollapsedGraph& graph, EdgeIx edge);
// The part of the label that signatures use: model::generic_label_text().
[[nodiscard]] std::string generic_label_of(const CollapsedGraph& graph, EdgeIx edge);

// "Engine.callbacks", "<lambda>.closure:self", "list[0]".
[[nodiscard]] std::string dotted(const CollapsedGraph& graph, EdgeIx edge);
// Like dotted(), without the name of a container: "[0]".
[[nodiscard]] std::string step_text(const CollapsedGraph& graph, EdgeIx edge);

// Formats `path`, a chain in which the target of each reference holds the next reference:
// "Engine.callbacks['a']". Returns "" if `path` is empty.
[[nodiscard]] std::string path_text(const CollapsedGraph& graph, std::span<const EdgeIx> path);

// The attribute that stores the container or bound method `node`, such as "Engine.callbacks". A
// bound method may also be stored in a container to which the attribute refers. If several
// attributes store `node`, returns the first in alphabetical order; if none does, returns "".
// Visits all references of the graph.
[[nodiscard]] std::string stored_in(const CollapsedGraph& graph, NodeIx node);

// "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine"; the middle of a long cycle is
// omitted. `cycle` lists the references in order; the target of the last is the holder of the
// first.
[[nodiscard]] std::string cycle_text(const CollapsedGraph& graph, std::span<const EdgeIx> cycle);

// `name` without leading underscores and without the class name of a private attribute: "trainer"
// for "_trainer" and "_Model__trainer".
[[nodiscard]] std::string_view plain_name(std::string_view name);

// "Model.w", by the attribute of another object that refers to `node`. An autograd node is named by
// the leaf whose gradient it accumulates, or by its output. "" if there is no such attribute.
[[nodiscard]] std::string name_by_attribute(const CollapsedGraph& graph, NodeIx node);

// The location of the code that creates the reference, as "path:line"; "" if unknown. The result is
// the first of these locations that is known:
// - The line that stores the attribute.
// - The function that captures the variable, or the function stored in the attribute.
// - The hook.
// - The frame.
// - The class, if the holder is a class.
// - The line that allocated the holder.
// - The location of `keeper`, the reference to the container or partial, unless `keeper` is a
//   captured variable or its holder belongs to the standard library. `keeper` may be kNone.
[[nodiscard]] std::string location_of(const CollapsedGraph& graph,
                                      EdgeIx edge,
                                      EdgeIx keeper = kNone);

// Like location_of_node(), but if `node` calls a function of the program, the location of that
// function.
[[nodiscard]] std::string location_of_code(const CollapsedGraph& graph, NodeIx node);

// The code that stores the attribute; null if unknown, or if `edge` is not an attribute.
[[nodiscard]] const model::AttributeSite* site_of(const CollapsedGraph& graph, EdgeIx edge);

// "path:line", "path" if the line is not known, or "".
[[nodiscard]] std::string place_of(const CollapsedGraph& graph,
                                   const model::SourceLocation& location);

// "path:line" of the code or class of `node`, or "".
[[nodiscard]] std::string location_of_node(const CollapsedGraph& graph, NodeIx node);

// The line that allocated the object of `owner`, as "path:line", or "".
[[nodiscard]] std::string allocation_of(const CollapsedGraph& graph,
                                        const model::DeviceOwner& owner);

// The reference as a finding stores it, but without a reason.
[[nodiscard]] model::Reference reference_of(const CollapsedGraph& graph,
                                            EdgeIx edge,
                                            EdgeIx keeper = kNone);

using base::Origin;

// Returns the origin of the code or class of `node`: user, library or standard library.
[[nodiscard]] Origin origin_of(const CollapsedGraph& graph, NodeIx node);
// The origin of the code at location_of() the reference; nullopt if the location is unknown.
[[nodiscard]] std::optional<Origin> origin_of_location(const CollapsedGraph& graph,
                                                       EdgeIx edge,
                                                       EdgeIx keeper = kNone);

// True if user code may have created the references that `node` holds. Always true for a container.
[[nodiscard]] bool may_be_users(const CollapsedGraph& graph, NodeIx node);

}  // namespace cyclewatch::analysis
