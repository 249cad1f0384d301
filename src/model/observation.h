// SPDX-License-Identifier: Apache-2.0
// What one collection gave us: when it ran, what it found unreachable, which owners of device
// memory were among it, and the graph that leads to them. Capture fills it, analysis reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/enum_words.h"
#include "model/ids.h"
#include "model/reference_graph.h"

namespace cyclewatch::model {

// One block of device memory, counted once however many owners view it.
struct Storage {
    std::string device;       // "cuda:0", "cpu", "xpu:1" ...
    std::uint64_t bytes = 0;  // size of the block
    bool released = true;     // false: something alive still holds it after the collection
};

// One object that owned device memory and died with the garbage.
struct DeviceOwner {
    NodeId node{};
    StorageId storage{};
    std::string type;   // "torch.nn.parameter.Parameter"
    std::string shape;  // "[1024, 1024]"; "" if the owner has none
    std::string dtype;  // "float32"; "" if the owner has none
    // Not the node's object itself but something that dies with it (a gradient).
    bool is_part = false;
};

// Who said how much memory is in use.
enum class MemorySource : std::uint8_t {
    torch,    // what torch's allocator has handed out
    cuda,     // all of the device that is not free, whoever holds it
    process,  // resident set of the process
};
inline constexpr std::array<std::string_view, 3> kMemorySourceWords{"torch", "cuda", "process"};
constexpr Words words_of(MemorySource) {
    return kMemorySourceWords;
}

// Memory of one device in bytes: when the collection had found what is unreachable and not yet
// freed it, and when it was over.
struct DeviceMemory {
    std::string device;  // "cuda:0", "cpu"
    std::uint64_t used_before = 0;
    std::uint64_t used_after = 0;
    std::uint64_t total = 0;  // 0: not known
    MemorySource source = MemorySource::process;

    friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

// The part of one finding in one collection.
struct FindingPart {
    std::string signature;
    std::uint64_t occurrences = 0;
    std::uint64_t retained_bytes = 0;  // attributed to it: over all findings, each storage once

    friend bool operator==(const FindingPart&, const FindingPart&) = default;
};
inline constexpr std::size_t kMaxPartsPerCollection = 16;

struct CollectionRecord {
    std::uint32_t process = 0;         // index into Report::processes
    std::uint64_t number = 0;          // counts the collections this watch saw, from 1
    int generation = 0;                // as the collector names it
    double started_at = 0;             // seconds since the watch began
    double duration = 0;               // seconds from "start" to "stop", our share included
    double own_seconds = 0;            // seconds of `duration` spent in the watch
    double dead_for_at_most = 0;       // seconds since an earlier collection could have freed it
    std::uint64_t unreachable = 0;     // objects
    std::uint64_t owners = 0;          // owners that died
    std::uint64_t released_bytes = 0;  // device bytes of their storages, each once
    std::int64_t step = -1;            // the program's own step then; -1: it named none
    std::vector<DeviceMemory> device_memory;  // of the devices those owners were on
    std::vector<FindingPart> findings;        // largest first, at most kMaxPartsPerCollection
    std::string note;                         // why something was not captured; "" if all was

    friend bool operator==(const CollectionRecord&, const CollectionRecord&) = default;
};

// Clusters of objects that were not named because a named one has the same shape: same kinds of
// objects, referring to each other in the same way. They count as occurrences of its findings.
struct RepeatedShape {
    NodeId twin{};             // an owner in the named cluster of that shape
    std::uint64_t count = 0;   // clusters
    std::uint64_t owners = 0;  // in all of them together
    std::uint64_t bytes = 0;   // released with them, each storage once
};

struct Observation {
    CollectionRecord record;
    ReferenceGraph graph;
    std::vector<DeviceOwner> owners;
    std::vector<Storage> storages;
    std::vector<RepeatedShape> repeats;
    std::uint64_t omitted_nodes = 0;  // unreachable objects on a way to an owner, but over the cap
    std::uint64_t omitted_references = 0;  // between the others, but over theirs
};

}  // namespace cyclewatch::model
