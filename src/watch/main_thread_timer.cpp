// SPDX-License-Identifier: Apache-2.0
#include "watch/main_thread_timer.h"

#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/signals_blocked.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

// A Call is never freed, because the interpreter may run a pending call after the timer has ended.
struct Call {
    PyObject* function = nullptr;
    std::atomic<bool> pending{false};
};

int run_call(void* context) {
    auto& call = *static_cast<Call*>(context);
    call.pending = false;
    // An exception, such as KeyboardInterrupt, propagates to the program.
    return python::steal(PyObject_CallNoArgs(call.function)) ? 0 : -1;
}

class Timer {
  public:
    Timer(std::chrono::duration<double> period, Call& call)
        : period_(period), call_(call), thread_([this] { run(); }) {}

    // REQUIRES: the GIL is not held, because the timer thread may be waiting for the GIL.
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
            if (call_.pending.exchange(true)) {
                continue;
            }
            // Acquires the GIL to force the main thread to reacquire it. On CPython 3.11, a busy
            // main thread checks for other threads' pending calls only when it reacquires the GIL.
            const PyGILState_STATE state = PyGILState_Ensure();
            if (Py_AddPendingCall(&run_call, &call_) != 0) {
                call_.pending = false;  // the table of pending calls is full
            }
            PyGILState_Release(state);
        }
    }

    const std::chrono::duration<double> period_;
    Call& call_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
    std::thread thread_;  // last: uses the other members
};

// The timers, and the id of the process that started them.
struct Running {
    std::vector<Timer*> timers;
    pid_t process = 0;
};

Running& running() {
    static Running& the_running = *new Running;
    return the_running;
}

}  // namespace

void call_every(std::chrono::duration<double> period, PyObject* function) {
    if (running().process != ::getpid()) {
        stop_calls();
    }
    auto* const call = new Call;
    call->function = python::borrow(function).release();
    const base::SignalsBlocked blocked;
    running().timers.push_back(new Timer(period, *call));
    running().process = ::getpid();
}

void stop_calls() {
    const Running before = std::exchange(running(), {});
    // A forked child leaks the timers, because their threads do not exist in the child and their
    // locks may be held.
    if (before.process == ::getpid()) {
        const python::GilRelease release;
        for (Timer* const timer : before.timers) {
            timer->stop();
            delete timer;
        }
    }
}

}  // namespace cyclewatch::watch
