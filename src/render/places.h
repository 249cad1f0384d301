// SPDX-License-Identifier: Apache-2.0
// The references to cut, grouped by the line of code that stores them: one change for each group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct Place {
    const model::Reference* first = nullptr;  // the first of them, in Finding::cut
    std::uint64_t references = 0;
    std::vector<std::string> holders;  // the different ones
    std::vector<std::string> targets;
};

// In the order of `finding.cut`, to which the result refers. References without a location are not
// grouped.
[[nodiscard]] std::vector<Place> places_of(const model::Finding& finding);

// "14 references at 7 places; one alone is not enough". REQUIRES: several places.
[[nodiscard]] std::string all_of_places(const model::Finding& finding,
                                        const std::vector<Place>& places);

// "Trainer" or "one of 2 classes": the classes of the targets at the place; "" if all places of the
// finding lead to the same class, or for a method bound to an object of its own class.
[[nodiscard]] std::string target_words(const std::vector<Place>& places, const Place& place);

// "9 classes" or "9 bound methods": the number of different holders.
[[nodiscard]] std::string counted_holders(const Place& place);

// "9 classes derived from Base"; "" if there is only one holder.
[[nodiscard]] std::string classes_words(const Place& place);

}  // namespace cyclewatch::render
