// SPDX-License-Identifier: Apache-2.0
// Sentences that several formats share. Plain text, not escaped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace cyclewatch::render {

// The objects that nothing had examined when the report was written ("the objects that ..."); "" if
// all objects of all processes were examined, or if this is unknown.
[[nodiscard]] std::string unexamined_words(const model::Report& report);

// "No report from 2 of 8 ranks (3 and 5)."; "" if no rank is missing.
[[nodiscard]] std::string missing_ranks_sentence(const model::Report& report);

// Names missing ranks. States how much memory cycles kept alive, and for how long. If no cycle was
// found, summarizes the observed collections, what was not examined, and the growth of live
// tensors.
[[nodiscard]] std::string summary_sentence(const model::Report& report);
// States how much memory is freed by the cuts suggested for the first two new findings, or that
// there are no new findings. Covers only the first finding if there is no suggestion for the
// second. Returns "" if there is no suggestion for the first, or if the report has no findings.
[[nodiscard]] std::string remedy_sentence(const model::Report& report);

// "Engine is part of a reference cycle that keeps 4.0 KiB of cuda:0 memory alive: cut
// <lambda>.closure:self (train.py:12)." For several occurrences, gives the total size: "20
// reference cycles through Engine keep 80.0 KiB ...". One line without control characters, not
// escaped.
[[nodiscard]] std::string headline(const model::Finding& finding);

// "not collected yet", "frozen: no collection will free this", or "" if a collection freed the
// memory.
[[nodiscard]] std::string collected_words(const model::Finding& finding);

// "shared with 4 other findings", or "shared with objects outside any cycle".
[[nodiscard]] std::string sharing_words(const model::Finding& finding);
// " (one of 4 such paths)" if the path of a group stands for several, whose text is the same except
// for indexes; otherwise "". If the path names a variable or an attribute, its owners are the
// shards of one array.
[[nodiscard]] std::string similar_paths(std::string_view path, std::uint64_t count);

// "256 MiB", "at least 4.0 MiB": the memory that only this cycle kept alive or, if there is none,
// that other objects also kept alive.
[[nodiscard]] std::string kept_size(const model::Finding& finding);
// "256 MiB in 64 cycles"; "10.0 KiB in 1 cycle, shared with 4 other findings".
[[nodiscard]] std::string size_words(const model::Finding& finding);
// True for a new finding that no collection frees, because the collector does not see the cycle.
[[nodiscard]] bool is_never_freed(const model::Finding& finding);
inline constexpr std::string_view kNeverFreedSentence =
    "No collection frees these cycles, because they lead through references that the collector "
    "does not see, in C++ objects or NumPy arrays.";
// "a further 1.2 GiB freed that no tensor explains, most likely saved for backward", or before a
// collection "a further 1.2 GiB that these tensors have saved for backward"; "" if unknown.
[[nodiscard]] std::string unowned_words(const model::Finding& finding);

// "in Accuracy, F1Score at f1.py:12 and 3 more (12 cycles)": names at most `most` variants other
// than the variant in the title; "" if there is no other variant. A variant's location is included
// if it differs from the location of the variant in the title.
[[nodiscard]] std::string variants_words(const model::Finding& finding, std::size_t most);

// "3 collections", "50 scans", or "1 collection and 50 scans": where the finding occurred.
[[nodiscard]] std::string occasions(const model::Finding& finding);

// "64 cycles in 3 collections, the largest 64.0 KiB; unreachable for up to 2.2 s; ...".
[[nodiscard]] std::string seen_sentence(const model::Finding& finding);

// "48.0 KiB: 12 x torch.Tensor [1024] float32 on cuda:0, other, held by module global train.losses
// -> losses[0]."
[[nodiscard]] std::string live_owner_sentence(const model::LiveOwner& owner);

// "+4.0 KiB per step: 12 x torch.Tensor on cuda:0 (48.0 KiB), held by module global train.losses ->
// losses[0]. The memory will be full in 3,000 steps at this rate."
[[nodiscard]] std::string growth_sentence(const model::GrowingOwner& growing);
// "step 12, 3.4 s into the run": when `growing` and `live_owners` were recorded. For several
// processes "steps 12 to 16 of 4 processes". "" if unknown.
[[nodiscard]] std::string census_words(const model::Report& report);
// "4.0 KiB per step"
[[nodiscard]] std::string growth_rate(const model::GrowingOwner& growing);
// "3,000 steps"; "" if unknown.
[[nodiscard]] std::string time_until_full(const model::GrowingOwner& growing);

// "Overhead: 12 ms in 123 collections and in censuses over 34.5 s (0.04 % of the run time)."
[[nodiscard]] std::string overhead_sentence(const model::Report& report);
// One line for each reason why collections were skipped, followed by the notes of the report.
[[nodiscard]] std::vector<std::string> omissions(const model::Report& report);
// "train.py, process 4242, rank 0, Python 3.11.7 ..."; for a merged report "16 processes of
// train.py, ranks 0 to 15 ...".
[[nodiscard]] std::string program_line(const std::vector<model::ProgramInfo>& processes);

// "cuda:0 memory" if all owners are on one device, otherwise "device memory".
[[nodiscard]] std::string memory_kind(std::span<const model::Finding> findings);

// part / whole, clamped to 1; 0 if `whole` is 0.
[[nodiscard]] double share_of(std::uint64_t part, std::uint64_t whole);

}  // namespace cyclewatch::render
