// SPDX-License-Identifier: Apache-2.0
// A machine whose memory runs out, for the program it is preloaded into: chosen allocations of C++
// or of CPython fail.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

enum Whose : int { kCpp = 0, kPython = 1 };

std::atomic<long> counted{0};
std::atomic<long> first_failing{0};  // 0: none
std::atomic<long> last_failing{0};
std::atomic<int> whose_fail{kCpp};

// Counts an allocation; true if it is to fail.
bool fails(Whose whose) {
    const long first = first_failing.load(std::memory_order_relaxed);
    if (first == 0 || whose_fail.load(std::memory_order_relaxed) != whose) {
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

// As Python.h has it, which this library is to do without: one serves every interpreter.
struct PythonAllocator {
    void* context;
    void* (*malloc)(void* context, std::size_t size);
    void* (*calloc)(void* context, std::size_t count, std::size_t size);
    void* (*realloc)(void* context, void* memory, std::size_t size);
    void (*free)(void* context, void* memory);
};
using AccessAllocator = void (*)(int domain, PythonAllocator* allocator);

// Those of raw memory, of memory and of objects, before ours.
std::array<PythonAllocator, 3> python_allocators;

void* python_malloc(void* context, std::size_t size) {
    auto& theirs = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : theirs.malloc(theirs.context, size);
}
void* python_calloc(void* context, std::size_t count, std::size_t size) {
    auto& theirs = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : theirs.calloc(theirs.context, count, size);
}
void* python_realloc(void* context, void* memory, std::size_t size) {
    auto& theirs = *static_cast<PythonAllocator*>(context);
    return fails(kPython) ? nullptr : theirs.realloc(theirs.context, memory, size);
}
void python_free(void* context, void* memory) {
    auto& theirs = *static_cast<PythonAllocator*>(context);
    theirs.free(theirs.context, memory);
}

void stand_in_for_python() {
    const auto get = reinterpret_cast<AccessAllocator>(dlsym(RTLD_DEFAULT, "PyMem_GetAllocator"));
    const auto set = reinterpret_cast<AccessAllocator>(dlsym(RTLD_DEFAULT, "PyMem_SetAllocator"));
    for (int domain = 0; domain < 3; ++domain) {
        PythonAllocator& theirs = python_allocators[domain];
        if (theirs.malloc == nullptr) {
            get(domain, &theirs);
            PythonAllocator ours{
                &theirs, python_malloc, python_calloc, python_realloc, python_free};
            set(domain, &ours);
        }
    }
}

}  // namespace

#define CYCLEWATCH_VISIBLE __attribute__((visibility("default")))

extern "C" {

// From now on allocations of `whose` are counted, and those numbered `first` to `last`, from 1,
// fail: 0 for C++, 1 for CPython.
CYCLEWATCH_VISIBLE void fail_allocations(int whose, long first, long last) {
    if (whose == kPython) {
        stand_in_for_python();
    }
    whose_fail = whose;
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
