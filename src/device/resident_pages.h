// SPDX-License-Identifier: Apache-2.0
// Which parts of this process's memory are resident. Memory is not resident if it has never been
// written, if it is read from a file on demand, or if it has been swapped out.
#pragma once

#include <cstdint>

namespace cyclewatch::device {

// Not thread-safe. Does not need the GIL.
class ResidentPages {
  public:
    ResidentPages() noexcept;
    ResidentPages(const ResidentPages&) = delete;
    ResidentPages& operator=(const ResidentPages&) = delete;
    ~ResidentPages();

    // The bytes of the whole pages in [start, start + bytes), which must be mapped, that are not
    // resident. 0 if that cannot be determined, and for all that follows the first 16 GiB, which
    // take 0.2 s.
    [[nodiscard]] std::uint64_t absent_bytes(std::uint64_t start, std::uint64_t bytes) noexcept;

  private:
    int file_;  // -1: cannot be read
    std::uint64_t page_size_;
    std::uint64_t pages_left_;
};

}  // namespace cyclewatch::device
