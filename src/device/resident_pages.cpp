// SPDX-License-Identifier: Apache-2.0
#include "device/resident_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cyclewatch::device {
namespace {

// https://docs.kernel.org/admin-guide/mm/pagemap.html
constexpr const char* kPageMap = "/proc/self/pagemap";
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

}  // namespace

ResidentPages::ResidentPages() noexcept
    : file_(::open(kPageMap, O_RDONLY | O_CLOEXEC)),
      page_size_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
      pages_left_(kMostBytes / page_size_) {}

ResidentPages::~ResidentPages() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

std::uint64_t ResidentPages::absent_bytes(std::uint64_t start, std::uint64_t bytes) noexcept {
    std::uint64_t page = (start + page_size_ - 1) / page_size_;
    const std::uint64_t end = (start + bytes) / page_size_;
    if (file_ < 0 || end <= page || end - page > pages_left_) {
        return 0;
    }
    pages_left_ -= end - page;
    std::uint64_t absent = 0;
    std::array<std::uint64_t, 8192> entries;
    while (page < end) {
        const std::size_t wanted = std::min<std::uint64_t>(end - page, entries.size());
        const ssize_t read = ::pread(file_,
                                     entries.data(),
                                     wanted * sizeof(std::uint64_t),
                                     static_cast<off_t>(page * sizeof(std::uint64_t)));
        const std::size_t count =
            read < 0 ? 0 : static_cast<std::size_t>(read) / sizeof(entries[0]);
        if (count == 0) {
            return 0;
        }
        absent += static_cast<std::uint64_t>(
            std::count_if(entries.begin(), entries.begin() + count, [](std::uint64_t entry) {
                return (entry & kPresent) == 0;
            }));
        page += count;
    }
    return absent * page_size_;
}

}  // namespace cyclewatch::device
