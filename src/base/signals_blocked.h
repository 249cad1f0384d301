// SPDX-License-Identifier: Apache-2.0
// Threads of ours take none of the program's signals. The kernel gives a signal to any thread that
// does not block it: a program that blocks one, to take it with sigwait() later, would be ended by
// it on a thread that it knows nothing of.
#pragma once

#include <signal.h>

#include <array>

namespace cyclewatch::base {

// While it lives, the calling thread blocks signals, and what it starts does so for good. Not those
// that tell of a fault in the thread itself: faulthandler is to see them. Any thread; no lock.
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
