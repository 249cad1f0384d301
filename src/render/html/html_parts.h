// SPDX-License-Identifier: Apache-2.0
// The sections of the HTML page: the card of each finding, and overviews of sizes, processes, live
// tensors, overhead and collections.
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
    // Only the heading, which names the reference to cut. The rest of the card is inside
    // <noscript>. Browsers without scripting show the rest immediately; in other browsers,
    // viewer/src/findings/cards.ts expands it.
    light,
};

[[nodiscard]] std::string finding_card(const model::Finding& finding,
                                       std::size_t rank,
                                       const CardPicture& picture,
                                       CardWeight weight);

// One bar for each finding, with its retained and shared bytes.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// The CUDA devices, each with a bar that divides its memory by use; "" if there are none.
[[nodiscard]] std::string devices_section(const model::Report& report);

// A sentence that states whether the run needs garbage collection, and a table of collections by
// generation; "" if there were no collections.
[[nodiscard]] std::string generations_section(const model::Report& report);

// The tab "Live": the growing tensors and the largest live tensors; "" if the report has neither.
[[nodiscard]] std::string live_view(const model::Report& report);

// "rank 3", or "process 4242" if no rank is set.
[[nodiscard]] std::string process_name(const model::ProgramInfo& program);

// The footer of the page: overhead, skipped collections, notes, the table of collections, and a
// description of the watched processes.
[[nodiscard]] std::string closing_section(const model::Report& report);

// A table with the number of processes in which each finding occurred, and the process in which it
// first occurred; "" if the report has only one process. The page's script adds a heat map to each
// row.
[[nodiscard]] std::string ranks_section(const model::Report& report);

}  // namespace cyclewatch::render
