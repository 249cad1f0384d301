// SPDX-License-Identifier: Apache-2.0
// The data of one collection: its record, the memory owners among the unreachable objects, and the
// reference graph that leads to these owners. Written by capture, read by analysis.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/enum_words.h"
#include "model/ids.h"
#include "model/reference_graph.h"

namespace cyclewatch::model {

// One block of device memory, which several owners may view.
struct Storage {
    std::string device;  // "cuda:0", "cpu", "xpu:1" ...
    std::uint64_t bytes = 0;
    bool released = true;  // false: a live object still holds it after the collection
};

// An unreachable object that owned device memory.
struct DeviceOwner {
    NodeId node{};
    StorageId storage{};
    std::string type;   // "torch.nn.parameter.Parameter"
    std::string shape;  // "[1024, 1024]"; "" if the owner has none
    std::string dtype;  // "float32"; "" if the owner has none
    // True if the owner is not the object of `node` itself but a part that is freed with the
    // object, such as its gradient.
    bool is_part = false;
    bool has_graph = false;  // keeps tensors saved for backward, which may not be owners
    std::vector<std::string> allocation_stack{};  // as in OwnerSummary; empty if unknown
};

// The source of a memory reading.
enum class MemorySource : std::uint8_t {
    torch,    // allocated bytes of torch's caching allocator
    cuda,     // used memory of the device, by all processes
    process,  // resident set size of the process
};
inline constexpr std::array<std::string_view, 3> kMemorySourceWords{"torch", "cuda", "process"};
constexpr Words words_of(MemorySource) {
    return kMemorySourceWords;
}

// Memory of one device, in bytes.
struct DeviceMemory {
    std::string device;             // "cuda:0", "cpu"
    std::uint64_t used_before = 0;  // before the collector frees the unreachable objects
    std::uint64_t used_after = 0;   // after the collection
    std::uint64_t total = 0;        // 0: unknown
    MemorySource source = MemorySource::process;
    // The memory that the collection freed in addition to the storages of owners, as measured by
    // torch's allocator. Missing if nothing else was freed, or if it was not measured.
    std::optional<std::uint64_t> unowned_bytes{};

    friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

// The occurrences of one finding in one collection.
struct FindingPart {
    std::string signature;
    std::uint64_t occurrences = 0;
    std::uint64_t retained_bytes = 0;  // Finding::attributed_bytes of this collection

    friend bool operator==(const FindingPart&, const FindingPart&) = default;
};
inline constexpr std::size_t kMaxPartsPerCollection = 16;

// CollectionRecord::note if a finalizer resurrected the owners, which were freed after the
// collection.
inline constexpr const char* kFreedLater =
    "a finalizer resurrected these objects; they were freed after the collection";

struct CollectionRecord {
    std::uint32_t process = 0;      // index into Report::processes
    std::uint64_t number = 0;       // counts the collections of this watch, from 1
    int generation = 0;             // the collector's generation
    bool scan = false;              // a scan: found without a collection, nothing was freed
    double started_at = 0;          // seconds since the watch started
    double duration = 0;            // seconds, including own_seconds
    double own_seconds = 0;         // seconds spent in the watch
    double dead_for_at_most = 0;    // seconds since an earlier collection could have freed it
    std::uint64_t unreachable = 0;  // objects
    std::uint64_t owners = 0;       // unreachable memory owners, except those of earlier scans
    // Size of their released storages, each once. In a report, those of earlier scans are included.
    std::uint64_t released_bytes = 0;
    std::int64_t step = -1;                   // training step; -1 if the program set none
    std::vector<DeviceMemory> device_memory;  // of the devices of those owners
    std::vector<FindingPart> findings;        // largest first, at most kMaxPartsPerCollection
    std::string note;                         // why the capture is incomplete; "" if complete

    friend bool operator==(const CollectionRecord&, const CollectionRecord&) = default;
};

// Clusters that were counted but not captured, because a captured cluster has the same kinds of
// objects with the same references. Each of these clusters is an additional occurrence of the
// findings in the captured cluster.
struct RepeatedShape {
    NodeId twin{};             // an owner in the captured cluster
    std::uint64_t count = 0;   // clusters
    std::uint64_t owners = 0;  // in all these clusters
    std::uint64_t bytes = 0;   // released, each storage once
};

struct Observation {
    CollectionRecord record;
    ReferenceGraph graph;
    std::vector<DeviceOwner> owners;
    std::vector<Storage> storages;

    [[nodiscard]] const DeviceOwner& owner(OwnerId id) const { return owners[index_of(id)]; }
    [[nodiscard]] const Storage& storage(StorageId id) const { return storages[index_of(id)]; }
    [[nodiscard]] const Storage& storage_of(const DeviceOwner& owner) const {
        return storage(owner.storage);
    }
    std::vector<RepeatedShape> repeats;
    std::uint64_t omitted_nodes = 0;       // objects on a path to an owner, beyond the limit
    std::uint64_t omitted_references = 0;  // between captured objects, beyond the limit
};

}  // namespace cyclewatch::model
