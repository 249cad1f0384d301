// SPDX-License-Identifier: Apache-2.0
// The result of a watch, with its findings, its collections, and notes about omitted items. A value
// type without references to the watch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/collection_steps.h"
#include "model/finding.h"
#include "model/memory_account.h"
#include "model/observation.h"
#include "model/retention.h"

namespace cyclewatch::model {

inline constexpr int kReportSchemaVersion = 2;
inline constexpr std::size_t kMaxCollectionRecords = 1000;

// One process that was watched.
struct ProgramInfo {
    std::string script;  // base name of the program
    std::int64_t pid = 0;
    int rank = -1;  // of torch.distributed, or environment variable RANK; -1 if unknown
    std::string python_version;  // "3.11.7"
    std::string cyclewatch_version;
    std::string started_at;  // UTC, "2026-01-31T12:00:00.000Z"
    std::string strategy;    // "ride-along" or "heap-scan"
    // The objects that nothing had examined when the report was written, as a noun phrase; "" if
    // all objects were examined. Missing if unknown: an earlier version wrote the report.
    std::optional<std::string> unexamined{};
    std::optional<int> world_size{};    // number of ranks of the job
    std::optional<std::string> host{};  // hash of the name of the machine
    // Seconds from the start of the watch to the report, or to the end of the watch. Missing if
    // unknown, like `host`: an earlier version wrote the report.
    std::optional<double> elapsed{};

    friend bool operator==(const ProgramInfo&, const ProgramInfo&) = default;
};

// What the memory of a device was used for, in bytes. The values add up to the device's capacity.
struct MemoryBreakdown {
    std::uint64_t collection = 0;   // CollectionRecord::number of the next collection; 0: none
    std::uint64_t live = 0;         // allocated by torch, without `dead`
    std::uint64_t dead = 0;         // unreachable storages
    std::uint64_t torch_cache = 0;  // reserved by torch but not allocated
    std::uint64_t pool_used = 0;    // allocated by cudaMallocAsync(), without torch's part
    std::uint64_t pool_cache = 0;   // the rest of that pool
    std::uint64_t graphs = 0;       // for allocations in captured graphs
    // Everything else that is in use: CUDA contexts, allocations by other libraries, and other
    // processes. CUDA cannot distinguish these.
    std::uint64_t other = 0;
    std::uint64_t free = 0;

    friend bool operator==(const MemoryBreakdown&, const MemoryBreakdown&) = default;
};

// A CUDA device that contained unreachable storages.
struct DeviceRecord {
    std::uint32_t process = 0;  // index into Report::processes
    std::string device;         // "cuda:0"
    std::string name;           // "NVIDIA H100 80GB HBM3"
    std::string uuid;           // without a prefix; "" if unknown
    std::string pci_id;         // "0000:65:00.0"
    std::uint64_t total = 0;    // bytes
    int runtime_version = 0;    // 13000 for CUDA 13.0; 0 if the program uses the driver API only
    int driver_version = 0;     // the newest CUDA version that the driver supports
    // Name of the CUDA error that was pending before a collection; "" if there was none.
    std::string error;
    // Before the collection that freed the most memory. Missing if unknown.
    std::optional<MemoryBreakdown> memory;
    // When the report was created or the watch stopped. `dead` is 0: tensors that became
    // unreachable after the last collection are part of `live`. Missing if unknown.
    std::optional<MemoryBreakdown> memory_now{};

    friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

// ProgramInfo::unexamined in a report file that is written while the watch is active.
inline constexpr const char* kStillRunning =
    "the objects that became unreachable after the last full collection before the report was "
    "written";

// When the latest census of a process was taken.
struct CensusTime {
    std::uint32_t process = 0;  // index into Report::processes
    double at = 0;              // seconds since the watch started
    std::int64_t step = -1;     // training step at that time; -1 if the program set none

    friend bool operator==(const CensusTime&, const CensusTime&) = default;
};

// All collections of one generation.
struct GenerationTotals {
    int generation = 0;
    std::uint64_t collections = 0;
    double seconds = 0;             // without the time spent in the watch
    double share = 0;               // seconds / Stats::elapsed
    std::uint64_t examined = 0;     // objects; 0: unknown (before CPython 3.15)
    std::uint64_t reclaimed = 0;    // objects
    std::uint64_t freeing = 0;      // collections that freed device memory
    double freeing_seconds = 0;     // `seconds` of these collections
    std::uint64_t freed_bytes = 0;  // device memory, each storage once

    friend bool operator==(const GenerationTotals&, const GenerationTotals&) = default;
};

// The key in Stats::skipped for collections whose unreachable objects were not searched for owners.
// If this key is present, all totals are lower bounds.
inline constexpr const char* kNotSearched = "collections not searched for tensors: over budget";
// The key for findings that were not stored because of their size.
inline constexpr const char* kTooSmall = "findings below min_bytes";

// In a merged report, the values are totals over all processes.
struct Stats {
    std::uint64_t collections = 0;
    std::uint64_t scans = 0;        // searches without a collection
    std::uint64_t unreachable = 0;  // objects
    std::uint64_t owners = 0;       // unreachable memory owners
    // Of storages that the last search for never freed memory found, but that are not reported yet.
    std::optional<std::uint64_t> suspected_bytes;
    std::uint64_t findings = 0;     // including those that were not stored
    double seconds = 0;             // spent in the watch: collections, scans and censuses
    double collection_seconds = 0;  // spent in collections, including `seconds`
    double elapsed = 0;             // seconds since the watch started
    std::map<std::string, std::uint64_t> skipped;  // reason -> number of times
    std::vector<GenerationTotals> generations;     // ascending; all collections, no scans

    friend bool operator==(const Stats&, const Stats&) = default;
};

// Returns the entry for `generation`. Adds the entry if it is missing.
[[nodiscard]] GenerationTotals& totals_of(Stats& stats, int generation);
// Recomputes the shares. Must be called after a change to `elapsed` or to the `seconds` of a
// generation.
void update_shares(Stats& stats);

// Storages on a CUDA device that have the same size and the same or a similar owner. The addresses
// differ between runs.
struct StorageAddresses {
    std::string device;       // "cuda:0"
    std::uint64_t bytes = 0;  // of each storage
    double at = 0;            // seconds since the watch started, when they were listed or freed
    bool freed = false;       // unreachable storages that were freed at that time
    std::string signature{};  // of the finding; "" for reachable storages
    std::string category{};   // OwnerCategory of reachable storages; otherwise ""
    std::vector<std::uint64_t> addresses{};
    std::vector<std::string> paths{};  // to each reachable owner; otherwise empty

    friend bool operator==(const StorageAddresses&, const StorageAddresses&) = default;
};

struct Report {
    std::vector<ProgramInfo> processes;  // one; in a merged report several, by rank, then pid
    std::vector<std::string> devices;    // watched device types: "cuda", "cpu" ...
    std::vector<Finding> findings;       // in the order of ranks_before()
    std::uint64_t retained_bytes = 0;    // of all unreachable owners, each storage once
    // The collections and scans that found an unreachable owner, grouped by process, in
    // chronological order.
    std::vector<CollectionRecord> collections;
    std::uint64_t omitted_collections = 0;
    // The fastest growth first. Missing if no census (a list of all reachable owners) was taken.
    std::optional<std::vector<GrowingOwner>> growing;
    // The largest first. Missing if no census was taken.
    std::optional<std::vector<LiveOwner>> live_owners;
    // By process, then device. Missing if no CUDA device was described.
    std::optional<std::vector<DeviceRecord>> device_records;
    // When `growing` and `live_owners` were recorded, by process. Missing if no census was taken.
    std::optional<std::vector<CensusTime>> censuses;
    // By process. Missing if no account was recorded.
    std::optional<std::vector<MemoryAccount>> memory{};
    // By process and device. Missing if the program set no steps.
    std::optional<std::vector<MemorySteps>> memory_steps{};
    // By process. Missing if the program set no steps.
    std::optional<std::vector<CollectionSteps>> collection_steps{};
    std::optional<std::vector<MemorySamples>> memory_samples{};
    // Missing if no storage is on a CUDA device, and in a report of several processes.
    std::optional<std::vector<StorageAddresses>> addresses{};
    // Ranks of the job of which a merged report has no data, ascending. Missing if there are none.
    std::optional<std::vector<int>> missing_ranks{};
    Stats stats;
    std::vector<std::string> notes;  // sentences on what was truncated or skipped

    friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace cyclewatch::model
