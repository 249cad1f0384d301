// SPDX-License-Identifier: Apache-2.0
// Groups the references to cut by the line of code that stores them; each group (a "place") needs
// one change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct Place {
    const model::Reference* first = nullptr;  // the first of them, in Finding::cut
    std::uint64_t references = 0;
    std::vector<std::string> holders;  // without duplicates
    std::vector<std::string> targets;
};

// In the order of `finding.cut`. The result refers to `finding`, which must outlive it. References
// without a location are not grouped.
[[nodiscard]] std::vector<Place> places_of(const model::Finding& finding);

// "14 references in 7 locations; all of them must be cut". REQUIRES: several places.
[[nodiscard]] std::string all_of_places(const model::Finding& finding,
                                        const std::vector<Place>& places);

// "Trainer" or "one of 2 classes": the classes of the targets at `place`. "" if all places have the
// same target class, or if the holder is a method bound to an object of the target class.
[[nodiscard]] std::string target_words(const std::vector<Place>& places, const Place& place);

// "9 classes" or "9 bound methods": the number of different holders.
[[nodiscard]] std::string counted_holders(const Place& place);

// "9 classes derived from Base"; "" if there is only one holder.
[[nodiscard]] std::string classes_words(const Place& place);

}  // namespace cyclewatch::render
