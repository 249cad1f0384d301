// SPDX-License-Identifier: Apache-2.0
// The functions that the static Graphviz calls instead of malloc() and abort(): see contained.h.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace {

void* or_throw(void* memory) {
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

extern "C" {

void* contained_malloc(std::size_t size) {
    return or_throw(std::malloc(size != 0 ? size : 1));
}

void* contained_calloc(std::size_t count, std::size_t size) {
    return or_throw(std::calloc(count != 0 ? count : 1, size != 0 ? size : 1));
}

void* contained_realloc(void* memory, std::size_t size) {
    return or_throw(std::realloc(memory, size != 0 ? size : 1));
}

char* contained_strdup(const char* text) {
    const std::size_t size = std::strlen(text) + 1;
    return static_cast<char*>(std::memcpy(contained_malloc(size), text, size));
}

[[noreturn]] void contained_abort() {
    throw std::runtime_error("Graphviz failed");
}

}  // extern "C"
