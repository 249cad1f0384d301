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

// True while a collection is asked for and has not begun.
std::atomic<bool> due{false};

// Main thread, GIL held. Not PyGC_Collect(), which does nothing where automatic collection is off.
int collect(void* function) {
    due = false;
    // What a finalizer cannot hold back, such as KeyboardInterrupt, is the program's.
    return python::steal(PyObject_CallNoArgs(static_cast<PyObject*>(function))) ? 0 : -1;
}

class Timer {
  public:
    Timer(std::chrono::duration<double> period, PyObject* function)
        : period_(period), function_(function), thread_([this] { run(); }) {}

    // REQUIRES: GIL not held (the thread may be waiting for it), same process.
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
            // With the GIL: a busy main thread of CPython 3.11 only looks for pending calls of
            // other threads when it has to take the GIL again.
            const PyGILState_STATE state = PyGILState_Ensure();
            if (Py_AddPendingCall(&collect, function_) != 0) {
                due = false;  // the queue is full: next time
            }
            PyGILState_Release(state);
        }
    }

    const std::chrono::duration<double> period_;
    PyObject* const function_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
    std::thread thread_;  // last: it uses the others
};

// Never destroyed: after a fork there is no thread to wait for.
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
    // In a forked child the timer's thread does not exist and its lock may be held for ever: what
    // is left of it stays where it is.
    due = false;
}

}  // namespace cyclewatch::watch
