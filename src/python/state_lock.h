// SPDX-License-Identifier: Apache-2.0
// Who may touch the state of this module. Where there is a GIL: who holds it, and everything here
// is empty. On free-threaded builds: who holds the one lock that every way in from Python takes
// (StateLock) and that is let go of wherever the GIL would be (StateRelease). So "REQUIRES: GIL
// held" reads "the state's lock held" there, and what a room may rely on under the GIL, and what it
// must expect where that is given away, is the same on both.
//
// Nobody waits for the lock with the interpreter held, nor for the interpreter with a lock that was
// just taken: a thread that waits can be stopped, and one that dies waiting holds nothing.
#pragma once

#include "compat/features.h"

namespace cyclewatch::python {

// Takes the lock for a scope; again by a thread that has it. REQUIRES: attached to the interpreter.
class StateLock {
  public:
    StateLock() noexcept {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            take();
        }
    }
    StateLock(const StateLock&) = delete;
    StateLock& operator=(const StateLock&) = delete;
    ~StateLock() {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            give_back();
        }
    }

  private:
    static void take() noexcept;
    static void give_back() noexcept;
};

// For a thread that will never run again: lets go of the lock if it has it.
void abandon_state() noexcept;

// Lets go of the lock for a scope, however often this thread took it; nothing if it did not.
// REQUIRES: attached to the interpreter where the scope begins and where it ends.
class StateRelease {
  public:
    StateRelease() noexcept {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            times_ = let_go();
        }
    }
    StateRelease(const StateRelease&) = delete;
    StateRelease& operator=(const StateRelease&) = delete;
    ~StateRelease() {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            take_back(times_);
        }
    }

  private:
    friend void abandon_state() noexcept;
    static int let_go() noexcept;
    static void take_back(int times) noexcept;
    int times_ = 0;
};

}  // namespace cyclewatch::python
