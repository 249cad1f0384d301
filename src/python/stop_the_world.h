// SPDX-License-Identifier: Apache-2.0
// Runs work while no other thread changes Python objects. The GIL guarantees that; free-threaded
// builds stop the other threads.
#pragma once

#include <exception>

#include "compat/gc_list.h"
#include "python/forced_unwind.h"

namespace cyclewatch::python {

// Runs `work` while no other thread runs Python or changes an object. Propagates its exceptions.
// REQUIRES: GIL held. `work` must not run Python code, wait for a thread that may, or call this
// function.
template <typename Work>
void with_world_stopped(Work&& work) {
    if constexpr (!CYCLEWATCH_HAS_NO_GIL) {
        work();
        return;
    }
    struct Call {
        Work& work;
        std::exception_ptr failure;
    } call{work, nullptr};
    // Exceptions must not pass through the interpreter's C frames.
    const auto run = [](void* context) noexcept {
        auto& self = *static_cast<Call*>(context);
        try {
            self.work();
        } catch (...) {
            self.failure = std::current_exception();
        }
    };
    sleep_if_unwound([&] { cw_with_world_stopped(run, &call); });
    if (call.failure) {
        std::rethrow_exception(call.failure);
    }
}

}  // namespace cyclewatch::python
