// SPDX-License-Identifier: Apache-2.0
// Preloaded library: selected allocations by C++ or CPython fail.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

enum Allocator : int { kCpp = 0, kPython = 1 };

std::atomic<long> counted{0};
std::atomic<long> first_failing{0};  // 0: none
std::atomic<long> last_failing{0};
std::atomic<int> failing_allocator{kCpp};

// Counts an allocation; returns true if it must fail.
bool fails(Allocator allocator) {
    const long first = first_failing.load(std::memory_order_relaxed);
    if (first == 0 || failing_allocator.load(std::memory_order_relaxed) != allocator) {
        return false;
    }
    const long number = ++counted;
    return number >= first && number <= last_failing.load(std::memory_order_relaxed);
}

void* allocate(std::size_t size, std::size_t alignment) {
    if (fails(kCpp)) {
        return nullptr;
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

// PyMemAllocatorEx without Python.h, so that the library works with every interpreter.
struct PythonAllocator {
    void* context;
    void* (*malloc)(void* context, std::size_t size);
    void* (*calloc)(void* context, std::size_t count, std::size_t size);
    void* (*realloc)(void* context, void* memory, std::size_t size);
    void (*free)(void* context, void* memory);
};
using AccessAllocator = void (*)(int domain, PythonAllocator* allocator);

// The original allocators of the raw, mem and obj domains.
std::array<PythonAllocator, 3> original_allocators;

void* python_malloc(void* context, std::size_t size) {
    auto& original = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : original.malloc(original.context, size);
}
void* python_calloc(void* context, std::size_t count, std::size_t size) {
    auto& original = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : original.calloc(original.context, count, size);
}
void* python_realloc(void* context, void* memory, std::size_t size) {
    auto& original = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : original.realloc(original.context, memory, size);
}
void python_free(void* context, void* memory) {
    auto& original = *static_cast<PythonAllocator*>(context);
    original.free(original.context, memory);
}

void replace_python_allocators() {
    const auto get = reinterpret_cast<AccessAllocator>(dlsym(RTLD_DEFAULT, "PyMem_GetAllocator"));
    const auto set = reinterpret_cast<AccessAllocator>(dlsym(RTLD_DEFAULT, "PyMem_SetAllocator"));
    for (int domain = 0; domain < 3; ++domain) {
        PythonAllocator& original = original_allocators[domain];
        if (original.malloc == nullptr) {
            get(domain, &original);
            PythonAllocator ours{
                &original, python_malloc, python_calloc, python_realloc, python_free};
            set(domain, &ours);
        }
    }
}

}  // namespace

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

extern "C" {

// Counts allocations by `allocator` (0: C++, 1: CPython) from 1; numbers `first` to `last` fail.
CYCLEWATCH_VISIBLE void fail_allocations(int allocator, long first, long last) {
    if (allocator == kPython) {
        replace_python_allocators();
    }
    failing_allocator = allocator;
    counted = 0;
    last_failing = last;
    first_failing = first;
}

// Stops failing allocations and returns the number of allocations counted.
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
