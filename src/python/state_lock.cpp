// SPDX-License-Identifier: Apache-2.0
#include "python/state_lock.h"

#include <Python.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "python/forced_unwind.h"

namespace cyclewatch::python {
namespace {

struct State {
    std::mutex mutex;
    std::atomic<std::thread::id> holder;
    int times = 0;  // the holder took it
};

// In a forked child the other threads are gone, with what they held. They stood still at the fork,
// where under the GIL they would have waited for it.
void forget_other_threads();

State& state() {
    static State& the_state = *[] {
        pthread_atfork(nullptr, nullptr, forget_other_threads);
        return new State;  // never destroyed: collections go on to the last
    }();
    return the_state;
}

bool is_mine(const State& s) noexcept {
    return s.holder.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void forget_other_threads() {
    State& s = state();
    if (!is_mine(s)) {
        new (&s.mutex) std::mutex;
        s.holder = std::thread::id();
        s.times = 0;
    }
}

// Detached from the interpreter. Whoever comes first has it then.
void wait_until_free(State& s) noexcept {
    PyThreadState* const thread = PyEval_SaveThread();
    { const std::lock_guard lock(s.mutex); }
    sleep_if_unwound([thread] { PyEval_RestoreThread(thread); });
}

void take_once(State& s) noexcept {
    while (!s.mutex.try_lock()) {
        wait_until_free(s);
    }
    s.holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void free_it(State& s) noexcept {
    s.holder.store(std::thread::id(), std::memory_order_relaxed);
    s.mutex.unlock();
}

}  // namespace

void StateLock::take() noexcept {
    State& s = state();
    if (!is_mine(s)) {
        take_once(s);
    }
    ++s.times;
}

void StateLock::give_back() noexcept {
    State& s = state();
    if (--s.times == 0) {
        free_it(s);
    }
}

int StateRelease::let_go() noexcept {
    State& s = state();
    if (!is_mine(s)) {
        return 0;
    }
    const int times = std::exchange(s.times, 0);
    free_it(s);
    return times;
}

void abandon_state() noexcept {
    if constexpr (CYCLEWATCH_HAS_NO_GIL) {
        static_cast<void>(StateRelease::let_go());
    }
}

void StateRelease::take_back(int times) noexcept {
    if (times > 0) {
        State& s = state();
        take_once(s);
        s.times = times;
    }
}

}  // namespace cyclewatch::python
