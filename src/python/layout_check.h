// SPDX-License-Identifier: Apache-2.0
// Uses sample objects to verify that the interpreter's object layouts match those for which this
// module was compiled. If they do not match, no layout is used (compat/object_layout.h). Findings
// then do not name attributes, frames or generators; everything else still works.
#pragma once

#include <string>

namespace cyclewatch::python {

// Thrown if a Python error, such as KeyboardInterrupt from a signal handler, MemoryError or
// RecursionError, interrupts the check. The error remains set.
struct Interrupted {};

// Returns "" on success, otherwise a sentence for a warning. Runs once per process, in less than a
// millisecond; later calls return the first result.
// REQUIRES: GIL held, no collection in progress, no Python error set. RUNS PYTHON: a short script
// in its own namespace. Leaves no garbage. Throws Interrupted if the script fails or memory
// runs out; the next call retries.
const std::string& check_layouts();

}  // namespace cyclewatch::python
