// SPDX-License-Identifier: Apache-2.0
// Returns the location at which a Python object was allocated, if tracemalloc is tracing.
// docs/design/labels.md describes which frame of the traceback is selected.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. If
// tracemalloc is tracing, creates tuples and frees them before it returns. The tuples do not refer
// to unreachable objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include "base/source_path.h"

namespace cyclewatch::capture {

[[nodiscard]] base::CallSite allocation_site(PyObject* object);

}  // namespace cyclewatch::capture
