// SPDX-License-Identifier: Apache-2.0
#include "watch/collect_timer.h"

#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/signals_blocked.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

// True while a call is pending.
std::atomic<bool> due{false};

// PyGC_Collect() is not used, because it is a no-op if automatic collection is disabled.
int collect(void* function) {
    due = false;
    // An exception, such as KeyboardInterrupt, propagates to the program.
    return python::steal(PyObject_CallNoArgs(static_cast<PyObject*>(function))) ? 0 : -1;
}

class Timer {
  public:
    Timer(std::chrono::duration<double> period, PyObject* function)
        : period_(period), function_(function), thread_([this] { run(); }) {}

    // REQUIRES: GIL not held, because the timer thread may be waiting for it.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, period_, [this] { return stopped_; })) {
            if (due.exchange(true)) {
                continue;
            }
            // Acquires the GIL: on CPython 3.11, a busy main thread checks for pending calls of
            // other threads only after it has reacquired the GIL.
            const PyGILState_STATE state = PyGILState_Ensure();
            if (Py_AddPendingCall(&collect, function_) != 0) {
                due = false;  // the table of pending calls is full
            }
            PyGILState_Release(state);
        }
    }

    const std::chrono::duration<double> period_;
    PyObject* const function_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
    std::thread thread_;  // last: uses the other members
};

// Never destroyed: a forked child has no thread to join.
struct Running {
    Timer* timer = nullptr;
    pid_t process = 0;
};
Running running;

}  // namespace

void collect_every(std::chrono::duration<double> period, PyObject* collect) {
    stop_collecting();
    PyObject* const function = python::borrow(collect).release();
    const base::SignalsBlocked blocked;
    running = {new Timer(period, function), ::getpid()};
}

void stop_collecting() {
    const Running before = std::exchange(running, {});
    if (before.timer == nullptr) {
        return;
    }
    if (before.process == ::getpid()) {
        const python::GilRelease release;
        before.timer->stop();
        delete before.timer;
    }
    // A forked child leaks the timer: its thread does not exist, and its lock may be held.
    due = false;
}

}  // namespace cyclewatch::watch
