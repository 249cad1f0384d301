// SPDX-License-Identifier: Apache-2.0
// The reports of several processes, or ranks, as one.
#pragma once

#include <span>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::report {

// Most collection records of a merged report; each process has an equal share of them.
inline constexpr std::size_t kMaxMergedRecords = 4000;

// Findings of equal signature, or that are the same mistake, become one, with an entry in
// `by_process` for each process; processes stand by rank, then process id. A process that occurs in
// several reports (a file named twice, an earlier state of the same report, a report merged from
// others that are given too) is counted once: the report of it alone is taken before a merged one,
// and of equals the later state.
//
// An error where there is nothing to merge, or where merged reports share some of their processes
// and no choice among them has every process once.
[[nodiscard]] base::Result<model::Report> merge_reports(
    std::span<const model::Report* const> reports);

}  // namespace cyclewatch::report
