// SPDX-License-Identifier: Apache-2.0
// Keeps our threads from interfering with the host program's signal handling.
#pragma once

#include <signal.h>

#include <array>

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

}  // namespace cyclewatch::base
