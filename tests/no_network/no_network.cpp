// SPDX-License-Identifier: Apache-2.0
// Preloaded library: ends a program that starts a process or opens a socket.
#include <netdb.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

namespace {

constexpr int kNotAlone = 99;

[[noreturn]] void refuse(const char* call) {
    for (const char* words : {"not alone: ", call, "()\n"}) {
        (void)!::write(STDERR_FILENO, words, std::strlen(words));
    }
    ::_exit(kNotAlone);
}

}  // namespace

extern "C" {

CYCLEWATCH_VISIBLE pid_t fork() noexcept {
    refuse("fork");
}
CYCLEWATCH_VISIBLE pid_t vfork() noexcept {
    refuse("vfork");
}
CYCLEWATCH_VISIBLE int execve(const char*, char* const*, char* const*) noexcept {
    refuse("execve");
}
CYCLEWATCH_VISIBLE int execv(const char*, char* const*) noexcept {
    refuse("execv");
}
CYCLEWATCH_VISIBLE int execvp(const char*, char* const*) noexcept {
    refuse("execvp");
}
CYCLEWATCH_VISIBLE int posix_spawn(pid_t*,
                                   const char*,
                                   const posix_spawn_file_actions_t*,
                                   const posix_spawnattr_t*,
                                   char* const*,
                                   char* const*) {
    refuse("posix_spawn");
}
CYCLEWATCH_VISIBLE int posix_spawnp(pid_t*,
                                    const char*,
                                    const posix_spawn_file_actions_t*,
                                    const posix_spawnattr_t*,
                                    char* const*,
                                    char* const*) {
    refuse("posix_spawnp");
}
CYCLEWATCH_VISIBLE int system(const char*) {
    refuse("system");
}
CYCLEWATCH_VISIBLE FILE* popen(const char*, const char*) {
    refuse("popen");
}
CYCLEWATCH_VISIBLE int socket(int, int, int) noexcept {
    refuse("socket");
}
CYCLEWATCH_VISIBLE int socketpair(int, int, int, int*) noexcept {
    refuse("socketpair");
}
CYCLEWATCH_VISIBLE int connect(int, const sockaddr*, socklen_t) {
    refuse("connect");
}
CYCLEWATCH_VISIBLE int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
    refuse("getaddrinfo");
}

}  // extern "C"
