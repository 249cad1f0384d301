// SPDX-License-Identifier: Apache-2.0
// Uses sample objects to verify that the interpreter's object layouts match those for which this
// module was compiled. Layouts that fail the check are disabled (compat/object_layout.h). Findings
// then lack the names of the references that are read through these layouts; everything else still
// works.
#pragma once

#include <string>

namespace cyclewatch::python {

struct LayoutCheck {
    unsigned unreliable = 0;  // cyclewatch_layout bits
    std::string reason;       // a sentence for a warning; "" on success

    [[nodiscard]] bool ok() const noexcept { return unreliable == 0; }
};

// Thrown if a Python error, such as KeyboardInterrupt from a signal handler, MemoryError or
// RecursionError, interrupts the check. The error remains set.
struct Interrupted {};

// Runs once per process, in less than a millisecond; later calls return the first result.
// REQUIRES: GIL held, no collection in progress, no Python error set. RUNS PYTHON: a short script
// in its own namespace. Leaves no garbage. Throws Interrupted if the script fails; the next call
// then tries again.
const LayoutCheck& check_layouts();

}  // namespace cyclewatch::python
