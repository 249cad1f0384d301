// SPDX-License-Identifier: Apache-2.0
// The part of a card that lists the changes to make.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "render/text/card.h"

namespace cyclewatch::render {

// "closure:self of function pkg.make.<lambda>", "[0] of list in Engine.callbacks", "__self__ of
// builtin method list.remove of Engine.callbacks".
[[nodiscard]] std::string described(const model::Reference& reference);

// Adds the references to cut (one line for each change to the code) and the reason for the cut.
void add_cut(Card& card, const model::Finding& finding);

// The possible layouts of a card, most detailed first. The card uses the first layout that fits.
// The full list of changes has priority over the source code of further suggestions and over most
// lines about owners. The source code of the first change has priority over a partial list of
// changes.
[[nodiscard]] std::vector<Layout> layouts_of(const model::Finding& finding);

}  // namespace cyclewatch::render
