// SPDX-License-Identifier: Apache-2.0
// A machine whose memory runs out, for the program it is preloaded into: C++ allocations fail from
// a chosen one on. CPython's own do not come through here.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> counted{0};
std::atomic<long> first_failing{0};  // 0: none
std::atomic<long> last_failing{0};

void* allocate(std::size_t size, std::size_t alignment) {
    const long first = first_failing.load(std::memory_order_relaxed);
    if (first != 0) {
        const long number = ++counted;
        if (number >= first && number <= last_failing.load(std::memory_order_relaxed)) {
            return nullptr;
        }
    }
    if (alignment <= alignof(std::max_align_t)) {
        return std::malloc(size != 0 ? size : 1);
    }
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* const memory = allocate(size, alignment)) {
        return memory;
    }
    throw std::bad_alloc();
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

extern "C" {

// From now on allocations are counted, and those numbered `first` to `last`, from 1, fail.
CYCLEWATCH_VISIBLE void fail_allocations(long first, long last) {
    counted = 0;
    last_failing = last;
    first_failing = first;
}

// Ends that. Returns how many allocations there were.
CYCLEWATCH_VISIBLE long stop_failing() {
    first_failing = 0;
    return counted;
}

}  // extern "C"

CYCLEWATCH_VISIBLE void* operator new(std::size_t size) {
    return allocate_or_throw(size, kPlain);
}
CYCLEWATCH_VISIBLE void* operator new[](std::size_t size) {
    return allocate_or_throw(size, kPlain);
}
CYCLEWATCH_VISIBLE void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
CYCLEWATCH_VISIBLE void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return allocate(size, kPlain);
}
CYCLEWATCH_VISIBLE void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return allocate(size, kPlain);
}
CYCLEWATCH_VISIBLE void operator delete(void* memory) noexcept {
    std::free(memory);
}
CYCLEWATCH_VISIBLE void operator delete[](void* memory) noexcept {
    std::free(memory);
}
CYCLEWATCH_VISIBLE void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
CYCLEWATCH_VISIBLE void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
CYCLEWATCH_VISIBLE void operator delete(void* memory,
                                        std::size_t /*size*/,
                                        std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
