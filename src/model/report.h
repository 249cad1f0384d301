// SPDX-License-Identifier: Apache-2.0
// What a watch has to say: its findings, the collections behind them, and what was left out.
// A value; safe to hand to another thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::model {

inline constexpr int kReportSchemaVersion = 2;
inline constexpr std::size_t kMaxCollectionRecords = 1000;

// One process that was watched.
struct ProgramInfo {
    std::string script;  // base name of the program, without its directory
    std::int64_t pid = 0;
    int rank = -1;               // -1: RANK is not set
    std::string python_version;  // "3.11.7"
    std::string cyclewatch_version;
    std::string started_at;  // UTC, "2026-01-31T12:00:00Z"
    std::string strategy;    // "ride-along" or "trial-deletion"

    friend bool operator==(const ProgramInfo&, const ProgramInfo&) = default;
};

// In a merged report, of all processes together.
struct Stats {
    std::uint64_t collections = 0;
    std::uint64_t unreachable = 0;                 // objects
    std::uint64_t owners = 0;                      // that died with garbage
    std::uint64_t findings = 0;                    // distinct signatures
    double seconds = 0;                            // spent in the watch during collections
    double collection_seconds = 0;                 // spent in collections, our share included
    double elapsed = 0;                            // seconds the watch has been on
    std::map<std::string, std::uint64_t> skipped;  // reason -> how often

    friend bool operator==(const Stats&, const Stats&) = default;
};

struct Report {
    std::vector<ProgramInfo> processes;  // one, or those of a merged report by rank, then pid
    std::vector<std::string> devices;    // what was watched: "cuda", "cpu" ...
    std::vector<Finding> findings;       // by ranks_before()
    std::uint64_t retained_bytes = 0;    // of all owners that died with garbage, each storage once
    std::vector<CollectionRecord>
        collections;                        // that found an owner unreachable, by process, in order
    std::uint64_t omitted_collections = 0;  // records dropped
    Stats stats;
    std::vector<std::string> notes;  // what was truncated or skipped, in words

    friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace cyclewatch::model
