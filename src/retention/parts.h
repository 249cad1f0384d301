// SPDX-License-Identifier: Apache-2.0
// Determines which objects are parts of other objects and are therefore not shown in a path.
// REQUIRES: GIL held. RUNS PYTHON: never. Creates no Python objects.
#pragma once

#include <Python.h>

#include "model/reference_graph.h"

namespace cyclewatch::retention {

// The role of `part` in `holder`, such as the closure of a function; PartRole::none if it is not a
// part. `from`, which is `holder` or one of its parts, is the object that refers to `part`. `role`:
// the role of `from`. Recognizes some parts that occur only in paths, not in findings: the tree of
// a context's variables, the dict of a cached function, and the dicts of a threading.local.
[[nodiscard]] model::PartRole role_in(PyObject* holder,
                                      PyObject* from,
                                      model::PartRole role,
                                      PyObject* part) noexcept;

// True if `object` is a traceback or the cell of a variable. References to such an object are not
// steps of a path.
[[nodiscard]] bool is_skipped(PyObject* object) noexcept;

// True if the reference from `holder` to `target` is not a step of a path.
[[nodiscard]] bool is_folded(PyObject* holder, PyObject* target) noexcept;

// True for a function or bound method that is defined in Python, and for a functools.partial.
[[nodiscard]] bool is_function_or_partial(PyObject* object) noexcept;

[[nodiscard]] bool is_hamt_node(PyObject* object) noexcept;
[[nodiscard]] bool is_lru_cache(PyObject* object) noexcept;

}  // namespace cyclewatch::retention
