// SPDX-License-Identifier: Apache-2.0
// What becomes of a daemon thread that waits for the GIL inside our frames while the interpreter
// ends. CPython up to 3.13 unwinds such a thread by pthread_exit(), and the C++ runtime ends the
// whole process where that meets a noexcept function or a catch (...). From 3.14 on the thread
// sleeps for ever instead; so does ours, on every version.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <utility>

namespace cyclewatch::python {

// Returns what `call` returns, which may give the GIL away and ask for it again: because it runs
// Python code, say. Does not return where the interpreter ended meanwhile. `call` must own no
// Python reference: what it owns is let go of without the GIL.
template <typename Call>
decltype(auto) sleep_if_unwound(Call&& call) {
    try {
        return std::forward<Call>(call)();
    } catch (abi::__forced_unwind&) {
        // The thread owns nothing any more; the end of the process takes it along.
        for (;;) {
            ::pause();
        }
    }
}

}  // namespace cyclewatch::python
