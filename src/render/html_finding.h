// SPDX-License-Identifier: Apache-2.0
// The part of the page that tells of one finding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "model/finding.h"

namespace cyclewatch::render {

// `picture`: an <svg> element, or markup that says why there is none. `wide`: it is given the
// whole width of the card instead of standing beside the advice.
[[nodiscard]] std::string finding_card(const model::Finding& finding,
                                       std::size_t rank,
                                       std::string_view picture,
                                       bool wide);

}  // namespace cyclewatch::render
