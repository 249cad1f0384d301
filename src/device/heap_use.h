// SPDX-License-Identifier: Apache-2.0
// The bytes that the process has allocated with malloc(). Unlike the resident memory, they shrink
// with each tensor that is freed.
#pragma once

#include <cstdint>
#include <optional>

namespace cyclewatch::device {

// Bytes of all blocks that malloc() has returned and that have not been freed. nullopt if the
// program uses another allocator than glibc's, or glibc is older than 2.33.
//
// Does not need the GIL; thread-safe. Locks one heap of malloc() after the other, and looks at each
// of its free blocks: usually microseconds, but milliseconds with 100,000 free blocks.
[[nodiscard]] std::optional<std::uint64_t> heap_bytes() noexcept;

// The blocks of malloc() without a mapping of their own, in bytes.
struct SharedHeap {
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;  // kept for later allocations; may include pages that are not resident
};

// As heap_bytes().
[[nodiscard]] std::optional<SharedHeap> shared_heap() noexcept;

}  // namespace cyclewatch::device
