// SPDX-License-Identifier: Apache-2.0
// Merges the reports of several processes or ranks.
#pragma once

#include <span>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::report {

// Maximum number of collection records in a merged report, divided equally among the processes.
inline constexpr std::size_t kMaxMergedRecords = 4000;

// Merges findings with the same signature or cause into one, with an entry in `by_process` for each
// process. Processes are ordered by rank, then process id. A process that occurs in several reports
// is counted once: a report of only this process is preferred to a merged one, and then the later
// state to the earlier one. The order of `reports` does not matter.
//
// Fails if `reports` is empty, or if merged reports overlap so that no choice of reports covers
// each process exactly once.
[[nodiscard]] base::Result<model::Report> merge_reports(
    std::span<const model::Report* const> reports);

}  // namespace cyclewatch::report
