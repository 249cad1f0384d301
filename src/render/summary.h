// SPDX-License-Identifier: Apache-2.0
// The sentences that text and HTML share: what a report says before anyone reads a card.
// Plain text, not yet escaped for any format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/report.h"

namespace cyclewatch::render {

// What kept how much for how long, or that nothing was found and what was watched.
[[nodiscard]] std::string summary_sentence(const model::Report& report);
// What fixing the first two findings that are news returns, or the first if it is the only one to
// name a reference; that none is news; "" if the first names nothing to be cut.
[[nodiscard]] std::string remedy_sentence(const model::Report& report);

// The one sentence that a tired reader has to understand. "Engine is part of a reference cycle that
// keeps 4.0 KiB of cuda:0 memory alive: cut <lambda>.closure:self (train.py:12)."; of several, "20
// reference cycles through Engine keep 80.0 KiB ...", all occurrences together. One line without
// control characters, not yet escaped for any format.
[[nodiscard]] std::string headline(const model::Finding& finding);

// "shared with 4 other findings"; "shared with objects on no cycle" if no other finding is known.
[[nodiscard]] std::string sharing_words(const model::Finding& finding);
// "256 MiB in 64 cycles"; "10.0 KiB in 1 cycle, shared with 4 other findings".
[[nodiscard]] std::string size_words(const model::Finding& finding);

// "in Accuracy, F1Score at f1.py:12 and 3 more (12 cycles)": the variants of the finding that its
// title does not show, at most so many by name; "" if there are none. A location is named if it is
// not that of the reference to cut.
[[nodiscard]] std::string variants_words(const model::Finding& finding, std::size_t most);

// "64 cycles, 64.0 KiB each, in 3 collections; ..." of one finding.
[[nodiscard]] std::string seen_sentence(const model::Finding& finding);

// Collections seen, seconds in the watch, share of the run time.
[[nodiscard]] std::string overhead_sentence(const model::Stats& stats);
// What was skipped, one per reason, and the notes of the report.
[[nodiscard]] std::vector<std::string> omissions(const model::Report& report);
// "train.py, process 4242, rank 0, Python 3.11.7 ..."; of a merged report "16 processes of
// train.py, ranks 0 to 15 ...".
[[nodiscard]] std::string program_line(const std::vector<model::ProgramInfo>& processes);

// "cuda:0 memory" if all their owners are on one device, else "device memory".
[[nodiscard]] std::string memory_kind(std::span<const model::Finding> findings);

// The part of `part` in `whole`, between 0 and 1.
[[nodiscard]] double share_of(std::uint64_t part, std::uint64_t whole);

}  // namespace cyclewatch::render
