// SPDX-License-Identifier: Apache-2.0
// Defers notifications until Python code may run: on the main thread (Py_AddPendingCall), outside
// collections, and not while that thread is logging.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <functional>

namespace cyclewatch::watch {

// Queues `notification` and schedules its delivery. Notifications must not throw. Returns false and
// drops the notification if the queue is full.
bool post(std::function<void()> notification);

// Call this after each collection. Schedules the delivery again if the queue is not empty.
void reschedule_delivery() noexcept;

// Delivers the queued notifications on this thread, and up to 100 more that are queued during the
// delivery; the rest follows after the next collection. No-op during a delivery. RUNS PYTHON: yes.
// Returns false if a notification left an exception such as KeyboardInterrupt pending. The
// remaining notifications then stay queued, and the caller must propagate the exception.
[[nodiscard]] bool deliver_notifications() noexcept;

// Call this after fork(): it empties the queue.
void drop_notifications() noexcept;

}  // namespace cyclewatch::watch
