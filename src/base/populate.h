// SPDX-License-Identifier: Apache-2.0
// Allocates the pages of a large buffer in one system call. This takes about half as long as
// allocating each page on first use.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cyclewatch::base {

// Like buffer.reserve(size), but also allocates the pages of the first `filled` elements.
// Worthwhile only if the caller writes most of these elements.
template <typename Value>
void reserve_pages(std::vector<Value>& buffer, std::size_t size, std::size_t filled) {
    constexpr std::size_t kLarge = std::size_t{1} << 20;  // smaller buffers are often reused
    constexpr std::uintptr_t kPage = 4096;
    const std::size_t before = buffer.capacity();
    buffer.reserve(size);
#ifdef MADV_POPULATE_WRITE
    if (buffer.capacity() != before && filled * sizeof(Value) >= kLarge) {
        const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data()) & ~(kPage - 1);
        const auto end = reinterpret_cast<std::uintptr_t>(buffer.data() + filled) & ~(kPage - 1);
        // Fails on old kernels; the pages are then allocated on first use.
        (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
    }
#endif
}

// For a buffer that will be filled completely.
template <typename Value>
void reserve_pages(std::vector<Value>& buffer, std::size_t size) {
    reserve_pages(buffer, size, size);
}

}  // namespace cyclewatch::base
