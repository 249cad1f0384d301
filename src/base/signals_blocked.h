// SPDX-License-Identifier: Apache-2.0
// Threads of ours take none of the program's signals. The kernel gives a signal to any thread that
// does not block it: a program that blocks one, to take it with sigwait() later, would be ended by
// it on a thread that it knows nothing of.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>

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

// While it lives, a write beyond RLIMIT_FSIZE fails on the calling thread and does nothing else:
// the kernel also sends SIGXFSZ, which ends the process unless it is ignored, as CPython does, or
// handled, and it is no fault of the program's. Any thread; no lock.
class FileSizeSignalBlocked {
  public:
    FileSizeSignalBlocked() noexcept {
        sigset_t pending;
        sigpending(&pending);
        pending_before_ = sigismember(&pending, SIGXFSZ) == 1;
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    ~FileSizeSignalBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
    FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;

    // To be called after a write that failed with EFBIG: what that has sent is taken away.
    void take() noexcept {
        const timespec at_once{};
        while (!pending_before_ && sigtimedwait(&signal_, nullptr, &at_once) < 0 &&
               errno == EINTR) {
        }
    }

  private:
    sigset_t signal_{};
    sigset_t before_{};
    bool pending_before_ = false;
};

}  // namespace cyclewatch::base
