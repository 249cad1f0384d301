// SPDX-License-Identifier: Apache-2.0
// Where a Python object was allocated, while tracemalloc traces. docs/design/labels.md says which
// of the recorded calls counts.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. While
// tracemalloc traces it makes tuples that refer to nothing unreachable and are gone on return. May
// throw std::bad_alloc.
#pragma once

#include <Python.h>

#include "base/call_site.h"

namespace cyclewatch::capture {

[[nodiscard]] base::CallSite allocation_site(PyObject* object);

}  // namespace cyclewatch::capture
