// SPDX-License-Identifier: Apache-2.0
// Recognises dicts that locals() made in a method and somebody kept.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object at all. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <optional>

#include "capture/object_summary.h"

namespace cyclewatch::capture {

// The method whose variables the exact dict `dict` holds; none if it holds anything else. The dict
// begins with all parameters of a method of the class of its first value, `self` or `cls`, and the
// other keys are variables of that method, or for a dict that was updated, of others of the class.
// Of several such methods, the one that explains the most keys. The line is that of its call of
// locals(), if it is the only one, else that of its definition.
[[nodiscard]] std::optional<ObjectSummary> function_of_locals(PyObject* dict);

}  // namespace cyclewatch::capture
