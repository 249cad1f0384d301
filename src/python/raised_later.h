// SPDX-License-Identifier: Apache-2.0
// What is raised inside a collection and is the program's own: by a signal handler that ran there,
// by another thread that told this one to end, by a reader that wants the program to end. It
// reaches the program after the collection, as inside it would come up in somebody's finalizer,
// which CPython then ends with "Exception ignored".
//
// REQUIRES (everything here): GIL held.
#pragma once

namespace cyclewatch::python {

// Takes the pending error, and keeps it without its traceback, whose frames refer to what is dying
// and go here. One of each class is kept. RUNS PYTHON: finalizers of what the frames alone held.
void keep_for_later() noexcept;

// To be called when the collection is over, and does nothing before (collection_under_way.h): has
// what was kept raised soon, between two bytecodes of the thread that it was raised on. Of what is
// raised on another thread than the main one only the class is.
void raise_kept() noexcept;

[[nodiscard]] bool is_anything_kept() noexcept;

}  // namespace cyclewatch::python
