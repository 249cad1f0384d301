// SPDX-License-Identifier: Apache-2.0
// The part of a card that lists the places to change.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "render/text/card.h"

namespace cyclewatch::render {

// "closure:self of function pkg.make.<lambda>", "[0] of list in Engine.callbacks", "__self__ of
// builtin method list.remove of Engine.callbacks".
[[nodiscard]] std::string described(const model::Reference& reference);

// Adds the references to cut, one line for each place in the code, and the reason.
void add_cut(Card& card, const model::Finding& finding);

// The layouts of a card, the most detailed first; the first one that fits is used. The list of all
// places to change is more important than source code of further suggestions and most owners, and a
// part of that list is less important than the source code of the first place.
[[nodiscard]] std::vector<Layout> layouts_of(const model::Finding& finding);

}  // namespace cyclewatch::render
