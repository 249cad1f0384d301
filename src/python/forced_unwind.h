// SPDX-License-Identifier: Apache-2.0
// What becomes of a daemon thread that waits for the GIL inside our frames while the interpreter
// ends. CPython up to 3.13 unwinds such a thread by pthread_exit(), and the C++ runtime ends the
// whole process where that meets a noexcept function or a catch (...). From 3.14 on the thread
// sleeps for ever instead; so does ours, on every version.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <utility>

#include "python/state_lock.h"

namespace cyclewatch::python {

// Returns what `call` returns, which may give the GIL away and ask for it again. Does not return
// where the interpreter ended meanwhile. `call` must own no Python reference: what it owns is let
// go of without the GIL.
template <typename Call>
decltype(auto) sleep_if_unwound(Call&& call) {
    try {
        return std::forward<Call>(call)();
    } catch (abi::__forced_unwind&) {
        // The thread owns nothing any more; the end of the process takes it along.
        abandon_state();
        for (;;) {
            ::pause();
        }
    }
}

// The same for a call that runs Python code: other threads may come into this module meanwhile.
template <typename Call>
decltype(auto) let_others_run(Call&& call) {
    const StateRelease release;
    return sleep_if_unwound(std::forward<Call>(call));
}

}  // namespace cyclewatch::python
