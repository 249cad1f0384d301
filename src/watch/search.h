// SPDX-License-Identifier: Apache-2.0
// One search for unreachable owners: a collection, or a scan of the heap.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"
#include "watch/budget.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

using Watches = std::vector<std::shared_ptr<Watch>>;

struct Search {
    std::uint64_t number = 0;  // of collections and scans, from 1
    int generation = 0;
    // A scan: not_yet, never or uncollectable, depending on the objects that it examines.
    model::Collected collected = model::Collected::yes;
    Clock::time_point started;
    Clock::duration own{};  // time spent in the watch
    std::uint64_t unreachable = 0;
    bool listed = true;  // false: nothing was searched, and the objects were not counted
    // The object counts that the collector reported; 0 for a scan.
    std::uint64_t reclaimed = 0;
    std::uint64_t examined = 0;
    double collector_seconds = 0;  // without `own`
    Depth depth = Depth::none;
    const char* skipped = "";  // why nothing was captured; "" if it was

    [[nodiscard]] bool is_scan() const noexcept { return collected != model::Collected::yes; }
};

// Adds the search to the statistics of each watch.
void count(const Search& search, const Watches& watches) noexcept;

// Numbers and dates the searches.
class SearchClock {
  public:
    // Call this when the hook is installed. All existing objects are assumed to be alive at this
    // time.
    void restart() { last_of_generation_.fill(Clock::now()); }
    void reset_number() noexcept { last_number_ = 0; }
    [[nodiscard]] Search begin(int generation) noexcept;
    // What reports say about the search. Call this once for a collection.
    [[nodiscard]] model::CollectionRecord record(const Search& search, Clock::time_point now);

  private:
    [[nodiscard]] double dead_for_at_most(const Search& search, Clock::time_point now);

    std::uint64_t last_number_ = 0;
    std::array<Clock::time_point, 3> last_of_generation_{};
};

}  // namespace cyclewatch::watch
