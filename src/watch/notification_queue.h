// SPDX-License-Identifier: Apache-2.0
// What is said to the user waits here until Python may run: never inside a collection, always on
// the main thread (Py_AddPendingCall), a few bytecodes after the collection. Where that thread is
// in the midst of the next collection it waits for the end of that; where it is logging something,
// for a later collection (python/logging_frames.h).
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <functional>

namespace cyclewatch::watch {

// Queues `notice` and asks the interpreter to deliver soon. Notices must not throw. False if too
// many wait already: the main thread has not run Python for long; this one is dropped.
bool post(std::function<void()> notice);

// To be called after each collection: asks once more for what waits.
void remind() noexcept;

// Delivers what is queued at the moment of the call, on this thread; what a notice queues in turn
// waits for the next time. Does nothing while a delivery is under way. RUNS PYTHON: yes.
// False if a notice left KeyboardInterrupt or SystemExit pending: delivery stopped there, and the
// caller must pass the error on.
[[nodiscard]] bool deliver_notices() noexcept;

// Forgets what is queued (after fork()).
void drop_notices() noexcept;

}  // namespace cyclewatch::watch
