// SPDX-License-Identifier: Apache-2.0
// The HTML card of one finding.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

struct CardPicture {
    std::string markup;  // an <svg> element, or the reason why there is none
    bool wide = false;   // use the full width of the card instead of a column beside the advice
};

// How much of a card is rendered to DOM before it scrolls into view.
enum class CardWeight {
    whole,
    // Only the heading, which names the reference to cut. The rest is inside <noscript>. Browsers
    // without scripts show it immediately; otherwise, viewer/src/findings/cards.ts expands it.
    light,
};

[[nodiscard]] std::string finding_card(const model::Finding& finding,
                                       std::size_t rank,
                                       const CardPicture& picture,
                                       CardWeight weight);

}  // namespace cyclewatch::render
