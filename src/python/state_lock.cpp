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
    int times = 0;  // how often the holder acquired it
};

void reset_in_child();

State& state() {
    static State& the_state = *[] {
        pthread_atfork(nullptr, nullptr, reset_in_child);
        return new State;  // never destroyed: collections may run after static destructors
    }();
    return the_state;
}

bool is_mine(const State& s) noexcept {
    return s.holder.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

// Only the forking thread exists in a forked child. The state is consistent, because os.fork()
// stops the world.
void reset_in_child() {
    State& s = state();
    if (!is_mine(s)) {
        new (&s.mutex) std::mutex;
        s.holder = std::thread::id();
        s.times = 0;
    }
}

// Waits while detached from the interpreter. Another thread may acquire the lock before this
// function returns.
void wait_until_free(State& s) noexcept {
    PyThreadState* const thread = PyEval_SaveThread();
    { const std::lock_guard lock(s.mutex); }
    sleep_if_unwound([thread] { PyEval_RestoreThread(thread); });
}

void acquire_once(State& s) noexcept {
    while (!s.mutex.try_lock()) {
        wait_until_free(s);
    }
    s.holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void unlock(State& s) noexcept {
    s.holder.store(std::thread::id(), std::memory_order_relaxed);
    s.mutex.unlock();
}

}  // namespace

void StateLock::acquire() noexcept {
    State& s = state();
    if (!is_mine(s)) {
        acquire_once(s);
    }
    ++s.times;
}

void StateLock::release() noexcept {
    State& s = state();
    if (--s.times == 0) {
        unlock(s);
    }
}

int StateRelease::release_all() noexcept {
    State& s = state();
    if (!is_mine(s)) {
        return 0;
    }
    const int times = std::exchange(s.times, 0);
    unlock(s);
    return times;
}

void abandon_state() noexcept {
    if constexpr (CYCLEWATCH_HAS_NO_GIL) {
        static_cast<void>(StateRelease::release_all());
    }
}

void StateRelease::reacquire(int times) noexcept {
    if (times > 0) {
        State& s = state();
        acquire_once(s);
        s.times = times;
    }
}

}  // namespace cyclewatch::python
