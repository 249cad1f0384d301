// SPDX-License-Identifier: Apache-2.0
// Keeps our threads and file writes from interfering with the host program's signal handling.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cyclewatch::base {

// Blocks signals on the calling thread until destroyed. Threads that are started during the scope
// inherit this signal mask permanently. The kernel delivers a process-directed signal to any thread
// that does not block it. If a program blocks a signal in order to sigwait() for it, one of our
// threads that does not block the signal would receive it, and the process would be killed.
// Synchronous fault signals remain unblocked, so that faulthandler works. May be used on any
// thread; does not acquire locks.
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

// Until destroyed, a write on the calling thread that exceeds RLIMIT_FSIZE, or whose pipe has no
// reader, fails with an error and without a signal. By default, the kernel also delivers SIGXFSZ or
// SIGPIPE, which terminate a process that neither ignores nor handles them. May be used on any
// thread; does not acquire locks.
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

    // Call after a write that failed with `error`: consumes the pending signal of that write.
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
