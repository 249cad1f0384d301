// SPDX-License-Identifier: Apache-2.0
// Runs work while no other thread changes Python objects. On builds with a GIL, holding the GIL is
// enough; on free-threaded builds, the other threads are stopped.
#pragma once

#include <exception>

#include "compat/gc_list.h"
#include "python/forced_unwind.h"

namespace cyclewatch::python {

// A C callback that calls a C++ function. Exceptions must not pass through the interpreter's C
// frames, so they are stored.
template <typename Work>
class CallbackFor {
  public:
    explicit CallbackFor(Work& work) : work_(work) {}

    static void run(void* callback) noexcept {
        auto& self = *static_cast<CallbackFor*>(callback);
        try {
            self.work_();
        } catch (...) {
            self.failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    Work& work_;
    std::exception_ptr failure_;
};

// Runs `work` while no other thread runs Python or changes an object. Propagates its exceptions.
// REQUIRES: GIL held. `work` must not run Python code, wait for a thread that may run Python code,
// or call this function.
template <typename Work>
void with_world_stopped(Work&& work) {
    if constexpr (!CYCLEWATCH_HAS_NO_GIL) {
        work();
        return;
    }
    CallbackFor callback(work);
    sleep_if_unwound([&] { cw_with_world_stopped(callback.run, &callback); });
    callback.rethrow();
}

// Like with_world_stopped(), but first fills `found` with every tracked object that is not frozen.
// For free-threaded builds (cw_list_heap()).
template <typename Work>
cw_walk_result with_heap_listed(cw_object_list& found, Work&& work) {
    CallbackFor callback(work);
    const cw_walk_result result =
        sleep_if_unwound([&] { return cw_list_heap(&found, callback.run, &callback); });
    callback.rethrow();
    return result;
}

}  // namespace cyclewatch::python
