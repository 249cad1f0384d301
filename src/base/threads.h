// SPDX-License-Identifier: Apache-2.0
// Threads that run beside a program without being noticed by it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <exception>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

namespace cyclewatch::base {

// Blocks signals on the calling thread until this object is destroyed. Threads that the calling
// thread starts meanwhile inherit this signal mask and keep it. The kernel delivers a
// process-directed signal to any thread that does not block it. If a program blocks a signal in
// order to sigwait() for it, a thread of ours that does not block the signal could receive it
// instead. That would kill the process. Synchronous fault signals remain unblocked, so that
// faulthandler works. May be used on any thread; does not acquire locks.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int fault : std::array{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
            sigdelset(&blocked, fault);
        }
        pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};

// Starts a thread that runs `work`, with signals blocked, and with a name that `top -H` and
// debuggers show, so that nobody takes it for a thread of the program. Returns once the thread has
// allocated its exception state, without which its first exception, even std::bad_alloc, would
// abort the process if no memory is left by then. Does not acquire or release the GIL. Throws what
// std::thread's constructor throws.
template <typename Work>
std::thread start_thread(const char* name, Work work) {
    const SignalsBlocked blocked;
    // Shared, because the thread may still be in count_down() when wait() returns.
    const auto ready = std::make_shared<std::latch>(1);
    std::thread thread([name, ready, work = std::move(work)]() mutable {
        pthread_setname_np(pthread_self(), name);  // at most 15 characters
        (void)std::uncaught_exceptions();
        ready->count_down();
        work();
    });
    ready->wait();
    return thread;
}

}  // namespace cyclewatch::base
