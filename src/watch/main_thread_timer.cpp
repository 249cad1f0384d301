// SPDX-License-Identifier: Apache-2.0
#include "watch/main_thread_timer.h"

#include <Python.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

using Clock = std::chrono::steady_clock;

// A Call is never freed, because the interpreter may run a pending call after the timer has ended.
struct Call {
    PyObject* function = nullptr;
    std::mutex mutex;
    std::condition_variable wake;
    // Protected by `mutex`.
    bool is_pending = false;
    bool is_stopped = false;
    Clock::duration duration{};  // of the last call

    void finish(Clock::duration taken) {
        {
            const std::lock_guard lock(mutex);
            is_pending = false;
            duration = taken;
        }
        wake.notify_all();
    }
};

int run_call(void* context) {
    auto& call = *static_cast<Call*>(context);
    const Clock::time_point began = Clock::now();
    const bool succeeded = static_cast<bool>(python::steal(PyObject_CallNoArgs(call.function)));
    call.finish(Clock::now() - began);
    // An exception, such as KeyboardInterrupt, propagates to the program.
    return succeeded ? 0 : -1;
}

class Timer {
  public:
    Timer(std::chrono::duration<double> period, double share, Call& call)
        : period_(period),
          share_(share),
          call_(call),
          thread_(base::start_thread("cyclewatch/time", [this] { run(); })) {}

    // REQUIRES: the GIL is not held, because the timer thread may be waiting for the GIL.
    void stop() {
        {
            const std::lock_guard lock(call_.mutex);
            call_.is_stopped = true;
        }
        call_.wake.notify_all();
        thread_.join();
    }

  private:
    void run() {
        std::unique_lock lock(call_.mutex);
        while (!call_.wake.wait_for(lock, pause(), [this] { return call_.is_stopped; })) {
            call_.is_pending = true;
            lock.unlock();
            request_call();
            lock.lock();
            call_.wake.wait(lock, [this] { return call_.is_stopped || !call_.is_pending; });
        }
    }

    // The time from the end of one call to the next call.
    [[nodiscard]] std::chrono::duration<double> pause() const {
        return std::max<std::chrono::duration<double>>(period_, call_.duration * (1 / share_ - 1));
    }

    void request_call() {
        // Acquires the GIL to force the main thread to reacquire it. On CPython 3.11, a busy main
        // thread checks for other threads' pending calls only when it reacquires the GIL.
        const PyGILState_STATE state = PyGILState_Ensure();
        if (Py_AddPendingCall(&run_call, &call_) != 0) {
            call_.finish({});  // the table of pending calls is full
        }
        PyGILState_Release(state);
    }

    const std::chrono::duration<double> period_;
    const double share_;
    Call& call_;
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

void call_every(std::chrono::duration<double> period, double share, PyObject* function) {
    if (running().process != ::getpid()) {
        stop_calls();
    }
    auto* const call = new Call;
    call->function = python::borrow(function).release();
    running().timers.push_back(new Timer(period, share, *call));
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
