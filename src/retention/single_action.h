// SPDX-License-Identifier: Apache-2.0
// Actions that remove several references at once: the end of another thread's call, and IPython's
// `%xdel`, and an exception that replaces the last one of an interactive prompt.
// REQUIRES: GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

// If every path to the last object of `path` contains a reference that one action removes, returns
// that action as an instruction; otherwise, "". `thread_action`: the action that ends the call of
// the thread in which the path begins.
[[nodiscard]] std::string single_action(const HeapGraph& graph,
                                        const Roots& roots,
                                        const RawPath& path,
                                        const std::string& thread_action);

// The variables of the call of another thread in which `path` begins that lead to its last object,
// if the call does not read them again before it assigns them, and if nothing else leads to the
// object. Otherwise, and for code of a library, the set is empty.
[[nodiscard]] std::set<std::string> settable_variables(const HeapGraph& graph,
                                                       const Roots& roots,
                                                       const RawPath& path);

// True if every path to the last object of `path` leads through a hook of a torch module.
[[nodiscard]] bool hooks_hold_all(const HeapGraph& graph, const Roots& roots, const RawPath& path);

// True if every path to the last object of `path` leads through an attribute of `owner`.
[[nodiscard]] bool owner_holds_all(const HeapGraph& graph,
                                   const Roots& roots,
                                   const RawPath& path,
                                   PyObject* owner);

}  // namespace cyclewatch::retention
