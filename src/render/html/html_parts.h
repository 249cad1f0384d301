// SPDX-License-Identifier: Apache-2.0
// The parts of the HTML page: the card of one finding, and the parts about all findings: sizes,
// findings by process, overhead, collections.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"
#include "model/report.h"

namespace cyclewatch::render {

struct CardPicture {
    std::string markup;  // an <svg> element, or the reason why there is none
    bool wide = false;   // needs the full width of the card instead of a column beside the advice
};

// How much of a card the browser renders before the card scrolls into view.
enum class CardWeight {
    whole,
    // Only the heading, which names the reference to cut. The rest is inside <noscript>: browsers
    // without scripts show it immediately, and in others viewer/src/findings/cards.ts expands it.
    light,
};

[[nodiscard]] std::string finding_card(const model::Finding& finding,
                                       std::size_t rank,
                                       const CardPicture& picture,
                                       CardWeight weight);

// One bar for each finding, with its retained and shared bytes.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// A sentence on whether the run needs garbage collection, and a table of the collections by
// generation; "" if there were no collections.
[[nodiscard]] std::string generations_section(const model::Report& report);

// The tab "Live": the growing tensors and the largest live tensors; "" if the report has neither.
[[nodiscard]] std::string live_view(const model::Report& report);

// "rank 3", or "process 4242" if no rank is set.
[[nodiscard]] std::string process_name(const model::ProgramInfo& program);

// Overhead, skipped collections, notes, the table of collections, and the program.
[[nodiscard]] std::string closing_section(const model::Report& report);

// For each finding, the number of processes in which it occurred, and the first of these processes;
// "" if the report has only one process. The script adds a heat map to each row.
[[nodiscard]] std::string ranks_section(const model::Report& report);

}  // namespace cyclewatch::render
