// SPDX-License-Identifier: Apache-2.0
// Whether the calling thread is in the midst of a collection: in a finalizer, a weak reference's
// callback, or somebody's entry in gc.callbacks. What is raised there is lost, as CPython ends it
// with "Exception ignored".
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

namespace cyclewatch::python {

// Told by who rides along (collector/gc_hook.cpp), on the thread that collects.
void collection_began() noexcept;
void collection_is_over() noexcept;

[[nodiscard]] bool is_collecting_here() noexcept;

}  // namespace cyclewatch::python
