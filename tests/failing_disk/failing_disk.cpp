// SPDX-License-Identifier: Apache-2.0
// Preloaded library that simulates a full disk. While FAILING_DISK is set in the environment, the
// first write to a temporary file of cyclewatch writes half of the bytes, and later writes fail.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

namespace {

bool is_ours(int file) {
    std::array<char, 64> link{};
    std::array<char, 4096> path{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
    return ::readlink(link.data(), path.data(), path.size() - 1) > 0 &&
           std::strstr(path.data(), ".cyclewatch-") != nullptr;
}

}  // namespace

extern "C" CYCLEWATCH_VISIBLE ssize_t write(int file, const void* bytes, std::size_t size) {
    if (std::getenv("FAILING_DISK") != nullptr && is_ours(file)) {
        if (::lseek(file, 0, SEEK_CUR) > 0 || size < 2) {
            errno = ENOSPC;
            return -1;
        }
        size /= 2;
    }
    return ::syscall(SYS_write, file, bytes, size);
}
