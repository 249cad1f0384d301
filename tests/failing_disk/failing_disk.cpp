// SPDX-License-Identifier: Apache-2.0
// A disk that fails, for the program it is preloaded into: where the environment says
// FAILING_DISK=CALL NUMBER, that call fails with that error for the temporary files that cyclewatch
// writes; getrandom(), which names them, fails for everybody. With "CALL before" or "CALL after"
// SIGKILL ends the process instead, just before that call does anything, or when it is done. The
// program may set and unset it while it runs.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

namespace {

std::array<std::atomic<bool>, 1024> ours{};  // by descriptor

bool is_ours(const char* path) {
    return std::strstr(path, ".cyclewatch-") != nullptr;
}

bool is_ours(int file) {
    return file >= 0 && static_cast<std::size_t>(file) < ours.size() && ours[file];
}

// What is wished to happen to `call`; null if nothing is.
const char* wished(const char* call) {
    const char* const wish = std::getenv("FAILING_DISK");
    const std::size_t length = std::strlen(call);
    const bool meant =
        wish != nullptr && std::strncmp(wish, call, length) == 0 && wish[length] == ' ';
    return meant ? wish + length + 1 : nullptr;
}

bool is_wished(const char* call, const char* what) {
    const char* const wish = wished(call);
    return wish != nullptr && std::strcmp(wish, what) == 0;
}

void may_be_killed(const char* call, const char* moment) {
    if (is_wished(call, moment)) {
        ::kill(::getpid(), SIGKILL);
    }
}

// Whether `call` is to fail; errno says with what then.
bool fails(const char* call) {
    may_be_killed(call, "before");
    const char* const wish = wished(call);
    const int error = wish != nullptr ? std::atoi(wish) : 0;
    if (error != 0) {
        errno = error;
    }
    return error != 0;
}

// The result of a call of ours that was made.
long done(const char* call, long result) {
    may_be_killed(call, "after");
    return result;
}

int open_at(const char* path, int flags, va_list rest) {
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    if (is_ours(path) && fails("open")) {
        return -1;
    }
    const auto file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
    if (file >= 0 && static_cast<std::size_t>(file) < ours.size()) {
        ours[file] = is_ours(path);
    }
    return is_ours(path) ? static_cast<int>(done("open", file)) : file;
}

}  // namespace

extern "C" {

CYCLEWATCH_VISIBLE int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const int file = open_at(path, flags, rest);
    va_end(rest);
    return file;
}

CYCLEWATCH_VISIBLE int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const int file = open_at(path, flags, rest);
    va_end(rest);
    return file;
}

// A disk takes what it still has room for: the first write of a file gets half of it in, also where
// the process is killed after it.
CYCLEWATCH_VISIBLE ssize_t write(int file, const void* bytes, std::size_t size) {
    if (!is_ours(file)) {
        return ::syscall(SYS_write, file, bytes, size);
    }
    if (fails("write")) {
        const int error = errno;
        if (::lseek(file, 0, SEEK_CUR) > 0 || size < 2) {
            errno = error;
            return -1;
        }
        size /= 2;
    }
    if (is_wished("write", "after")) {
        size /= 2;
    }
    return done("write", ::syscall(SYS_write, file, bytes, size));
}

CYCLEWATCH_VISIBLE int fsync(int file) {
    if (!is_ours(file)) {
        return static_cast<int>(::syscall(SYS_fsync, file));
    }
    return fails("fsync") ? -1 : static_cast<int>(done("fsync", ::syscall(SYS_fsync, file)));
}

// As Linux does it, the descriptor is gone either way.
CYCLEWATCH_VISIBLE int close(int file) {
    if (!is_ours(file)) {
        return static_cast<int>(::syscall(SYS_close, file));
    }
    ours[file] = false;
    const bool failed = fails("close");
    const int error = errno;
    const auto result = static_cast<int>(done("close", ::syscall(SYS_close, file)));
    errno = failed ? error : errno;
    return failed ? -1 : result;
}

// "move" is all ways to move a file.
CYCLEWATCH_VISIBLE int link(const char* from, const char* to) noexcept {
    if (is_ours(from) && (fails("link") || fails("move"))) {
        return -1;
    }
    const long result = ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    return static_cast<int>(is_ours(from) ? done("move", result) : result);
}

CYCLEWATCH_VISIBLE int rename(const char* from, const char* to) noexcept {
    if (is_ours(from) && fails("move")) {
        return -1;
    }
    const long result = ::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    return static_cast<int>(is_ours(from) ? done("move", result) : result);
}

CYCLEWATCH_VISIBLE int renameat2(
    int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    if (is_ours(from) && fails("move")) {
        return -1;
    }
    const long result = ::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    return static_cast<int>(is_ours(from) ? done("move", result) : result);
}

CYCLEWATCH_VISIBLE ssize_t getrandom(void* bytes, std::size_t size, unsigned flags) {
    return fails("getrandom") ? -1
                              : done("getrandom", ::syscall(SYS_getrandom, bytes, size, flags));
}

}  // extern "C"
