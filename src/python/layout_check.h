// SPDX-License-Identifier: Apache-2.0
// Proves, on sample objects made for the purpose, that the layouts this module was compiled with
// are those of the interpreter it runs in. What fails is switched off (compat/layout_switches.h):
// then references of that kind go without a name and nothing else changes.
#pragma once

#include <string>

namespace cyclewatch::python {

struct LayoutCheck {
    unsigned unreliable = 0;  // cyclewatch_layout bits
    std::string reason;       // one sentence for a warning; "" if all is well

    [[nodiscard]] bool ok() const noexcept { return unreliable == 0; }
};

// A Python error is pending that a signal handler of the program raised, or the lack of stack did.
struct Interrupted {};

// Runs once per process, before the first watch; later calls return the first result. Below a
// millisecond. REQUIRES: GIL held, no collection running, no Python error set. RUNS PYTHON: a
// script of its own, in a namespace of its own. Leaves no garbage and no error behind. Throws
// std::bad_alloc or Interrupted where it could not be run to its end; then the next call does.
const LayoutCheck& check_layouts();

}  // namespace cyclewatch::python
