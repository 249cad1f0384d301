// SPDX-License-Identifier: Apache-2.0
// The part of the page that tells of one finding.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

struct CardPicture {
    std::string markup;  // an <svg> element, or what says why there is none
    bool wide = false;   // given the whole width of the card instead of standing beside the advice
};

// How much of a card a browser makes elements of before anybody has come to see it.
enum class CardWeight {
    whole,
    // Elements are made of its heading only, which says in a sentence what to cut. The rest stands
    // in <noscript>: a browser without scripts shows it at once; for one with scripts it is a text,
    // which viewer/src/findings/cards.ts unfolds.
    light,
};

[[nodiscard]] std::string finding_card(const model::Finding& finding,
                                       std::size_t rank,
                                       const CardPicture& picture,
                                       CardWeight weight);

}  // namespace cyclewatch::render
