// SPDX-License-Identifier: Apache-2.0
// Threads of ours take none of the program's signals. The kernel gives a signal to any thread that
// does not block it: a program that blocks one, to take it with sigwait() later, would be ended by
// it on a thread that it knows nothing of.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <system_error>

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

// While it lives, a write beyond RLIMIT_FSIZE, or into a pipe that nobody reads, fails on the
// calling thread and does nothing else: the kernel also sends SIGXFSZ or SIGPIPE, which end the
// process unless they are ignored, as CPython does, or handled, and the program knows nothing of
// the write. Any thread; no lock.
class WriteSignalsBlocked {
  public:
    WriteSignalsBlocked() noexcept {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGXFSZ);
        sigaddset(&signals, SIGPIPE);
        sigpending(&pending_before_);
        pthread_sigmask(SIG_BLOCK, &signals, &before_);
    }
    ~WriteSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
    WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

    // To be called after a write that failed with `error`: what that has sent is taken away.
    void take_signal_of(std::errc error) noexcept {
        if (error == std::errc::file_too_large) {
            take(SIGXFSZ);
        } else if (error == std::errc::broken_pipe) {
            take(SIGPIPE);
        }
    }

  private:
    void take(int number) noexcept {
        sigset_t signal;
        sigemptyset(&signal);
        sigaddset(&signal, number);
        const timespec at_once{};
        const bool ours = sigismember(&pending_before_, number) == 0;
        while (ours && sigtimedwait(&signal, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }

    sigset_t before_{};
    sigset_t pending_before_{};
};

}  // namespace cyclewatch::base
