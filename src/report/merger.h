// SPDX-License-Identifier: Apache-2.0
// Adds up reports. For merge_reports() and merge_files().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/merge.h"
#include "report/timeline.h"

namespace cyclewatch::report {

// Identifies a process and defines the order of processes. Includes the rank and the host, because
// processes in containers that start together may have equal process ids and start times.
using Identity = std::tuple<int, std::int64_t, std::string, std::string, std::string>;

inline Identity identity_of(const model::ProgramInfo& process) {
    return {
        process.rank, process.pid, process.started_at, process.script, process.host.value_or("")};
}

// Maps each process to the report that provides its data.
using Sources = std::map<Identity, const model::Report*>;

// Not thread-safe.
class Merger {
  public:
    // `sources`: all processes of the merged report.
    explicit Merger(const Sources& sources);

    // Adds a report, all of whose processes are in `sources`. Call it in the order of the
    // processes.
    void add(model::Report report);
    // Returns the merged report. Nothing may be added afterwards.
    model::Report finish();

  private:
    void add_finding(model::Finding finding, const std::vector<std::uint32_t>& new_index);
    void add_accounts(model::Report& report, const std::vector<std::uint32_t>& new_index);
    void add_stats(const model::Stats& stats);
    // Replaces each signature in `record` with the signature of the merged finding.
    void rename_parts(model::CollectionRecord& record) const;
    // Bounds the size of the accounts, which grows with the number of processes.
    void thin_accounts();
    // Of the job; 0 if no process knows it.
    [[nodiscard]] int world_size() const;
    // A rank is missing if no report contains it.
    void set_missing_ranks();
    // Adds a note if a rank has several processes.
    void note_repeated_ranks();
    // Adds a note for each physical device that several ranks used.
    void note_shared_devices();

    model::Report merged_;
    std::map<Identity, std::uint32_t> process_index_;
    std::vector<Timeline> timelines_;  // by process
    std::set<int> missing_;            // ranks
    MistakeIndex finding_index_;
    // By position: the names of the finding that was last added to `finding_index_`. Most ranks
    // have equal findings, whose keys would take most of the time of a merge.
    std::vector<model::Finding> indexed_;
    std::unordered_map<std::string, std::size_t> signatures_;  // original signature -> finding
};

}  // namespace cyclewatch::report
