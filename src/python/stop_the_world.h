// SPDX-License-Identifier: Apache-2.0
// Work that needs the program's objects to stand still. Holding the GIL is enough where there is
// one; without, the other threads are stopped.
#pragma once

#include <exception>

#include "compat/gc_list.h"
#include "python/forced_unwind.h"

namespace cyclewatch::python {

// Runs `work`, and throws what it throws. No other thread runs Python or changes an object
// meanwhile. REQUIRES: GIL held; `work` runs no Python code, waits for no thread that may, and
// stops nobody itself.
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
    // The interpreter's frames are between us and it: no exception may pass.
    const auto run = [](void* context) noexcept {
        auto& made = *static_cast<Call*>(context);
        try {
            made.work();
        } catch (...) {
            made.failure = std::current_exception();
        }
    };
    sleep_if_unwound([&] { cw_with_world_stopped(run, &call); });
    if (call.failure) {
        std::rethrow_exception(call.failure);
    }
}

}  // namespace cyclewatch::python
