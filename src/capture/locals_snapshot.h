// SPDX-License-Identifier: Apache-2.0
// Recognises dicts that locals() created in a method.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <optional>

#include "capture/object_summary.h"

namespace cyclewatch::capture {

// Returns the method whose variables the exact dict `dict` contains, if any. The dict starts with
// all parameters of a method of the class of its first value, `self` or `cls`. The other keys are
// variables of that method, or of other methods of the class if the dict was updated. If several
// methods match, the one with the most keys is returned. The line is that of the only call of
// locals() in the method, else that of its definition.
[[nodiscard]] std::optional<ObjectSummary> function_of_locals(PyObject* dict);

}  // namespace cyclewatch::capture
