// SPDX-License-Identifier: Apache-2.0
// The lock that protects this module's state on free-threaded builds. On other builds, the GIL
// protects the state, and everything here is a no-op.
//
// Every entry point from Python acquires the lock (StateLock). The lock is released wherever a
// build with a GIL would release the GIL (StateRelease). On free-threaded builds, "REQUIRES: GIL
// held" in a contract therefore means "REQUIRES: state lock held"; the guarantees are the same.
//
// A thread is detached from the interpreter while it waits for the lock, and attaches again before
// it acquires the lock. The lock therefore cannot deadlock with a stop-the-world pause.
#pragma once

#include "compat/features.h"

namespace cyclewatch::python {

// Holds the lock for a scope. Reentrant. REQUIRES: attached to the interpreter.
class StateLock {
  public:
    StateLock() noexcept {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            acquire();
        }
    }
    StateLock(const StateLock&) = delete;
    StateLock& operator=(const StateLock&) = delete;
    ~StateLock() {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            release();
        }
    }

  private:
    static void acquire() noexcept;
    static void release() noexcept;
};

// Releases the lock, if this thread holds it. The calling thread must never run again.
void abandon_state() noexcept;

// Releases the lock for a scope, regardless of how often this thread acquired it. No-op if this
// thread does not hold the lock.
// REQUIRES: attached to the interpreter when the scope begins and when it ends.
class StateRelease {
  public:
    StateRelease() noexcept {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            times_ = release_all();
        }
    }
    StateRelease(const StateRelease&) = delete;
    StateRelease& operator=(const StateRelease&) = delete;
    ~StateRelease() {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            reacquire(times_);
        }
    }

  private:
    friend void abandon_state() noexcept;
    static int release_all() noexcept;
    static void reacquire(int times) noexcept;
    int times_ = 0;
};

}  // namespace cyclewatch::python
