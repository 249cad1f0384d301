// SPDX-License-Identifier: Apache-2.0
#include "device/heap_use.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

namespace cyclewatch::device {
namespace {

// struct mallinfo2 of glibc 2.33. Not taken from <malloc.h>, because wheels are built with an older
// glibc.
struct HeapInfo {
    std::size_t arena;
    std::size_t ordblks;
    std::size_t smblks;
    std::size_t hblks;
    std::size_t hblkhd;  // bytes of blocks that have a mapping of their own
    std::size_t usmblks;
    std::size_t fsmblks;
    std::size_t uordblks;  // bytes of the other blocks
    std::size_t fordblks;  // free bytes
    std::size_t keepcost;
};
using Mallinfo2 = HeapInfo (*)();

std::size_t allocated(const HeapInfo& info) noexcept {
    return info.uordblks + info.hblkhd;
}

// Null if another library provides malloc(), whose blocks glibc does not count. The address of
// malloc() does not tell, because it may be that of a stub in the executable.
Mallinfo2 find_mallinfo2() noexcept {
    constexpr std::size_t kBlock = 100'000;
    constexpr int kAttempts = 3;  // other threads may free more at the same time
    const auto mallinfo2 = reinterpret_cast<Mallinfo2>(dlsym(RTLD_DEFAULT, "mallinfo2"));
    for (int i = 0; mallinfo2 != nullptr && i < kAttempts; ++i) {
        const std::size_t before = allocated(mallinfo2());
        void* const volatile block = std::malloc(kBlock);
        const std::size_t after = allocated(mallinfo2());
        std::free(block);
        if (block != nullptr && after >= before + kBlock) {
            return mallinfo2;
        }
    }
    return nullptr;
}

std::optional<HeapInfo> heap_info() noexcept {
    static const Mallinfo2 mallinfo2 = find_mallinfo2();
    return mallinfo2 == nullptr ? std::nullopt : std::optional(mallinfo2());
}

}  // namespace

std::optional<std::uint64_t> heap_bytes() noexcept {
    const std::optional<HeapInfo> info = heap_info();
    return info ? std::optional<std::uint64_t>(allocated(*info)) : std::nullopt;
}

std::optional<SharedHeap> shared_heap() noexcept {
    const std::optional<HeapInfo> info = heap_info();
    return info ? std::optional(SharedHeap{.allocated = info->uordblks, .free = info->fordblks})
                : std::nullopt;
}

}  // namespace cyclewatch::device
