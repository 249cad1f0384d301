// SPDX-License-Identifier: Apache-2.0
// Keeps our threads and file writes from interfering with the host program's signal handling.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cyclewatch::base {

// Blocks signals on the calling thread until this object is destroyed. Threads started in the
// meantime inherit this signal mask permanently. The kernel delivers a process-directed signal to
// any thread that does not block it. If a program blocks a signal in order to sigwait() for it, a
// thread of ours that does not block the signal could receive it instead. That would kill the
// process. Synchronous fault signals remain unblocked, so that faulthandler works. May be used on
// any thread; does not acquire locks.
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

// Until this object is destroyed, a write on the calling thread that exceeds RLIMIT_FSIZE, or that
// writes to a pipe without a reader, only fails with an error. By default, the kernel also delivers
// SIGXFSZ or SIGPIPE, which terminate a process that neither ignores nor handles them. May be used
// on any thread; does not acquire locks.
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

    // After a write has failed with `error`, consumes the pending signal that the write caused.
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
