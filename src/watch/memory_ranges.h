// SPDX-License-Identifier: Apache-2.0
// Counts the memory of storages whose address ranges overlap once. Does not need Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cyclewatch::watch {

// The memory of a storage.
struct MemoryRange {
    const std::string* device = nullptr;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::size_t storage = 0;
    bool has_tensor = false;  // a tensor or array shows the storage
};

// Reduces the sizes so that their sum is the size of the union of the ranges on each device, and
// returns the storages whose size changed. If ranges overlap, the memory is counted with one that
// has a tensor, if there is one; then with the largest; then with the first.
std::vector<std::size_t> count_once(std::span<MemoryRange> ranges);

}  // namespace cyclewatch::watch
