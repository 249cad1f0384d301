// SPDX-License-Identifier: Apache-2.0
#include "watch/search.h"

#include <algorithm>
#include <cstddef>

#include "compat/features.h"

namespace cyclewatch::watch {

void count(const Search& search, const Watches& watches) noexcept {
    const CollectionCost cost{.scan = search.is_scan(),
                              .generation = search.generation,
                              .depth = search.depth,
                              .is_complete = *search.skipped == '\0',
                              .unreachable = search.unreachable,
                              .reclaimed = search.reclaimed,
                              .examined = search.examined,
                              .own_seconds = seconds(search.own),
                              .collector_seconds = search.collector_seconds,
                              .collection_seconds = seconds(Clock::now() - search.started)};
    try {
        for (const auto& watch : watches) {
            watch->count(cost);
            if (*search.skipped != '\0') {
                watch->skip(search.skipped);
            }
        }
    } catch (...) {
        // Out of memory. Only statistics are lost.
    }
}

Search SearchClock::begin(int generation) noexcept {
    Search search;
    search.started = Clock::now();
    search.generation = generation;
    search.number = ++last_number_;
    return search;
}

model::CollectionRecord SearchClock::record(const Search& search, Clock::time_point now) {
    model::CollectionRecord record;
    record.number = search.number;
    record.generation = search.generation;
    record.duration = seconds(now - search.started);
    record.own_seconds = seconds(search.own);
    record.scan = search.is_scan();
    record.dead_for_at_most = dead_for_at_most(search, now);
    record.unreachable = search.unreachable;
    record.note = search.skipped;
    return record;
}

// The time since the last collection of this or an older generation; 0 if unknown. During that
// collection, the objects that are now unreachable were still reachable or did not exist yet.
double SearchClock::dead_for_at_most(const Search& search, Clock::time_point now) {
    if (search.collected >= model::Collected::never) {
        return 0;  // no collection would have freed them
    }
    const int reached = CYCLEWATCH_COLLECTIONS_ARE_FULL ? 2 : search.generation;
    const auto generation = static_cast<std::size_t>(std::clamp(reached, 0, 2));
    const Clock::time_point last =
        *std::max_element(last_of_generation_.begin() + generation, last_of_generation_.end());
    if (!search.is_scan()) {
        last_of_generation_[generation] = now;
    }
    return last == Clock::time_point() ? 0 : seconds(search.started - last);
}

}  // namespace cyclewatch::watch
