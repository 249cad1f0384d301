// SPDX-License-Identifier: Apache-2.0
// The questions to, and the answers from, the lookup of allocations in torch's memory history
// (cyclewatch/watching/memory_recording.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cyclewatch::watch {

// A storage found by a collection. Discarded after the lookup. Times are in microseconds since the
// epoch.
struct CollectedStorage {
    int device = 0;  // the index in "cuda:<index>"
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool released = true;          // freed by the collection
    std::int64_t unreachable = 0;  // before the collection freed anything
    std::int64_t settled = 0;      // after the collection
};

struct StackFrame {
    std::string path;
    std::uint32_t line = 0;
    std::string function;
};

struct AllocationStacks {
    bool is_recorded = false;  // false: there is no history, or an exception is pending
    std::string failure;       // why the history could not be read; "" on success
    std::vector<std::vector<StackFrame>> stacks;  // one per storage; empty if unknown
};

}  // namespace cyclewatch::watch
