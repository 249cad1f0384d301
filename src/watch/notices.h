// SPDX-License-Identifier: Apache-2.0
// What is said to the user waits here until Python may run: never inside a collection, always on
// the main thread (Py_AddPendingCall), a few bytecodes after the collection.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <functional>

namespace cyclewatch::watch {

// Queues `notice` and asks the interpreter to deliver soon. Notices must not throw.
void post(std::function<void()> notice);

// Delivers what is queued now, on this thread; does nothing while a delivery is under way.
// RUNS PYTHON: yes.
void deliver_notices() noexcept;

// Forgets what is queued (after fork()).
void drop_notices() noexcept;

}  // namespace cyclewatch::watch
