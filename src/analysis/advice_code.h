// SPDX-License-Identifier: Apache-2.0
// The code that a finding suggests instead of a reference.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

// Code that replaces a stored bound method; `ref` is a weakref.WeakMethod of that method.
inline constexpr const char* kCallWhileAlive =
    "lambda *args, **kwargs: (m := ref()) and m(*args, **kwargs)";

// Code that replaces a partial whose first argument is the object; `ref` is a weakref.ref to it.
inline constexpr const char* kCallWithObject =
    "lambda *args, **kwargs: function(ref(), *args, **kwargs)";

// The short name. Function names are in backquotes, because they may read like ordinary words.
[[nodiscard]] std::string name_in_text(const CollapsedGraph& graph, NodeIx node);

// True for an attribute that generated code sets, such as a field of a dataclass.
[[nodiscard]] bool is_declared_field(const CollapsedGraph& graph, EdgeIx edge);

// The name of the bound method that holds the reference. Empty if the bound callable is not defined
// in a class: plain functions and classes can be bound to an object, too.
[[nodiscard]] std::string method_of(const CollapsedGraph& graph, const Candidate& candidate);

[[nodiscard]] bool is_first_argument_of_partial(const CollapsedGraph& graph,
                                                const Candidate& candidate);

// A sentence with the code that makes the reference weak; begins with a space. Empty if that code
// depends on the rest of the program.
[[nodiscard]] std::string code_of(const CollapsedGraph& graph, const Candidate& candidate);

}  // namespace cyclewatch::analysis
