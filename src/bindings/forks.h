// SPDX-License-Identifier: Apache-2.0
// Forked children, where there is no GIL: threads that the child does not have may have held the
// locks of pybind11, which does not know of forks.
#pragma once

namespace cyclewatch::bindings {

// Every child finds pybind11's locks free from now on. To be called once. REQUIRES: GIL held.
void free_locks_in_children();

}  // namespace cyclewatch::bindings
