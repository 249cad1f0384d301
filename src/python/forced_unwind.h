// SPDX-License-Identifier: Apache-2.0
// Handles daemon threads that wait for the GIL inside cyclewatch's C++ code during interpreter
// finalization. Up to 3.13, CPython unwinds such threads with pthread_exit(). The C++ runtime then
// calls std::terminate() if the unwinding reaches a noexcept function or a catch (...). From 3.14
// on, CPython blocks such threads forever. cyclewatch blocks such threads forever on all versions.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <utility>

#include "python/state_lock.h"

namespace cyclewatch::python {

// Returns the result of `call`, which may release and reacquire the GIL. Blocks forever if the
// interpreter is finalized during the call. `call` must not own a Python reference, because the
// reference would be released without the GIL.
template <typename Call>
decltype(auto) sleep_if_unwound(Call&& call) {
    try {
        return std::forward<Call>(call)();
    } catch (abi::__forced_unwind&) {
        abandon_state();
        for (;;) {
            ::pause();
        }
    }
}

// Like sleep_if_unwound(), but for a `call` that runs Python code: other threads may enter this
// module during the call.
template <typename Call>
decltype(auto) let_others_run(Call&& call) {
    const StateRelease release;
    return sleep_if_unwound(std::forward<Call>(call));
}

}  // namespace cyclewatch::python
