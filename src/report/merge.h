// SPDX-License-Identifier: Apache-2.0
// Merges findings of several collections or processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/finding.h"
#include "model/observation.h"
#include "model/report.h"

namespace cyclewatch::report {

// Copies the times, the process and the number of the collection from `record`, which describes the
// collection in which `finding` was found.
void stamp(model::Finding& finding, const model::CollectionRecord& record);

// Merges `later` into `stored`, which has the same cause. The signature of `stored` does not
// change, but the description is taken from the larger occurrence. Equal owners are counted
// together; an unknown allocation site matches any site. Contradictory verdicts become `unclear`;
// notes are concatenated.
void merge(model::Finding& stored, model::Finding later);

// The owners that were allocated at one site.
struct PlacedAt {
    std::uint64_t owners = 0;
    std::vector<std::string> stack{};  // as in OwnerSummary; of the first owner
};

// Allocation sites of equal owners, looked up after their finding was stored.
struct PlacedOwners {
    model::OwnerSummary owner;              // as stored, without a site
    std::map<std::string, PlacedAt> sites;  // by "path:line"
};

// Splits the matching owners of `stored` by allocation site. If the lookup found the sites of all
// owners in `placed`, equal owners that were added later are counted at one of these sites.
void place(model::Finding& stored, const PlacedOwners& placed);

// Finds the stored finding that has the same cause as a given finding.
class MistakeIndex {
  public:
    // The position of a stored finding that has one of `finding`'s signatures, or that has the same
    // status and shares one of the model::mistake_keys(). A new finding is therefore never merged
    // into an ignored finding.
    [[nodiscard]] std::optional<std::size_t> find(const model::Finding& finding) const;

    // Adds the signatures and keys of `finding`, which is stored at `position`. Existing entries do
    // not change; entries beyond a limit are dropped. If std::bad_alloc is thrown, some entries may
    // have been added.
    void add(const model::Finding& finding, std::size_t position);

  private:
    std::unordered_map<std::string, std::size_t> positions_;  // by signature and by key
};

// Maximum number of collection records in a merged report, divided equally among the processes.
inline constexpr std::size_t kMaxMergedRecords = 4000;
// The accounts of more processes are merged without MemoryAccount::holders.
inline constexpr std::size_t kMaxProcessesWithHolders = 16;

// Merges findings with the same signature or cause into one, with an entry in `by_process` for each
// process. Processes are ordered by rank, then process id. A process that occurs in several reports
// is counted once. Single-process reports are preferred to a merged report of the same processes.
// Of two reports with exactly the same processes, the one that covers more time is preferred. The
// order of `reports` does not matter.
//
// Fails if `reports` is empty. May fail if two merged reports have only some of their processes in
// common.
[[nodiscard]] base::Result<model::Report> merge_reports(
    std::span<const model::Report* const> reports);

// The order, as indexes into `reports`, in which merge_reports() adds reports. Uses only
// Report::processes. Empty if a process occurs in several reports.
[[nodiscard]] std::vector<std::size_t> merge_order(std::span<const model::Report* const> reports);

// Like merge_reports(), but loads each report only when it is needed, because the reports of a
// thousand ranks do not fit into a gigabyte. `starts` are the reports in merge_order(), of which
// only `processes` is used. Each of the threads calls load(i) for the i-th report; load() must be
// thread-safe. Returns nothing if load() does, or if a report has other processes than its start.
[[nodiscard]] std::optional<model::Report> merge_files(
    std::span<const model::Report* const> starts,
    const std::function<std::optional<model::Report>(std::size_t)>& load,
    std::size_t threads);

}  // namespace cyclewatch::report
