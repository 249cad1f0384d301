// SPDX-License-Identifier: Apache-2.0
// Facts about one object, for programs that draw their own graphs. REQUIRES: GIL held, not inside a
// collection. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "python/references.h"

namespace cyclewatch::retention {

struct NamedReference {
    std::string label;  // in the grammar of docs/design/glossary.md; keys are shown
    python::OwnedRef target;
};

// References without a name are omitted. Does not create a __dict__.
[[nodiscard]] std::vector<NamedReference> named_references(PyObject* object);

// The calls that allocated `object`, innermost first: "path:line". Empty if tracemalloc did not
// trace them.
[[nodiscard]] std::vector<std::string> allocation_stack(PyObject* object);

}  // namespace cyclewatch::retention
