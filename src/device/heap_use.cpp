// SPDX-License-Identifier: Apache-2.0
#include "device/heap_use.h"

#include <dlfcn.h>

#include <cstddef>

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

const void* library_of(void* function) noexcept {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

// Null if another library provides malloc(), whose blocks glibc does not count.
Mallinfo2 find_mallinfo2() noexcept {
    void* const found = dlsym(RTLD_DEFAULT, "mallinfo2");
    const void* const library = library_of(found);
    return library != nullptr && library == library_of(dlsym(RTLD_DEFAULT, "malloc"))
               ? reinterpret_cast<Mallinfo2>(found)
               : nullptr;
}

std::optional<HeapInfo> heap_info() noexcept {
    static const Mallinfo2 mallinfo2 = find_mallinfo2();
    return mallinfo2 == nullptr ? std::nullopt : std::optional(mallinfo2());
}

}  // namespace

std::optional<std::uint64_t> heap_bytes() noexcept {
    const std::optional<HeapInfo> info = heap_info();
    return info ? std::optional(std::uint64_t{info->uordblks} + info->hblkhd) : std::nullopt;
}

std::optional<SharedHeap> shared_heap() noexcept {
    const std::optional<HeapInfo> info = heap_info();
    return info ? std::optional(SharedHeap{.allocated = info->uordblks, .free = info->fordblks})
                : std::nullopt;
}

}  // namespace cyclewatch::device
