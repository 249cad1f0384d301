// SPDX-License-Identifier: Apache-2.0
#include "render/places.h"

#include <algorithm>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kMethod = "bound method";

// For bound methods, the container is not compared, because one line of code may store several
// methods in different attributes.
bool are_stored_alike(const model::Reference& first, const model::Reference& cut) {
    return first.holder_path == cut.holder_path || cut.holder.starts_with(kMethod);
}

}  // namespace

std::vector<Place> places_of(const model::Finding& finding) {
    std::vector<Place> places;
    for (const model::Reference& cut : finding.cut) {
        auto place = std::ranges::find_if(places, [&cut](const Place& known) {
            // Without a location, references of different classes may need different changes.
            const bool same_code = !cut.location.empty() || known.first->holder == cut.holder;
            return same_code && known.first->location == cut.location &&
                   known.first->label == cut.label && are_stored_alike(*known.first, cut);
        });
        if (place == places.end()) {
            places.push_back({&cut, 0, {}, {}});
            place = places.end() - 1;
        }
        place->references += cut.references;
        if (std::ranges::find(place->holders, cut.holder) == place->holders.end()) {
            place->holders.push_back(cut.holder);
        }
        if (std::ranges::find(place->targets, cut.target) == place->targets.end()) {
            place->targets.push_back(cut.target);
        }
    }
    return places;
}

std::string all_of_places(const model::Finding& finding, const std::vector<Place>& places) {
    std::uint64_t references = 0;
    for (const Place& place : places) {
        references += place.references;
    }
    const std::string count = base::counted(places.size() + finding.omitted_cuts, "location") +
                              "; all of them must be cut";
    const bool counts = references >= places.size() && finding.omitted_cuts == 0;
    return (counts ? base::counted(references, "reference") : "references") + " in " + count;
}

std::string target_words(const std::vector<Place>& places, const Place& place) {
    const bool same = std::ranges::all_of(
        places, [&places](const Place& other) { return other.targets == places.front().targets; });
    // The name of a bound method already contains the class.
    const std::string method = "bound method " + place.targets.front() + ".";
    if (same || (place.holders.size() == 1 && place.holders.front().starts_with(method))) {
        return {};
    }
    return place.targets.size() == 1
               ? base::shown_name(base::last_part(place.targets.front()))
               : "one of " + base::counted(place.targets.size(), "class", "classes");
}

std::string counted_holders(const Place& place) {
    return place.first->holder.starts_with(kMethod)
               ? base::counted(place.holders.size(), kMethod)
               : base::counted(place.holders.size(), "class", "classes");
}

std::string classes_words(const Place& place) {
    if (place.holders.size() == 1) {
        return {};
    }
    std::string text = counted_holders(place);
    if (!place.first->base_class.empty()) {
        text += " derived from " + base::shown_name(base::last_part(place.first->base_class));
    }
    return text;
}

}  // namespace cyclewatch::render
