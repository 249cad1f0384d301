// SPDX-License-Identifier: Apache-2.0
// Statistics of one watch.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "model/report.h"
#include "watch/budget.h"
#include "watch/clock.h"

namespace cyclewatch::watch {

// The cost of one collection, for the statistics.
struct CollectionCost {
    bool scan = false;
    int generation = 0;
    Depth depth = Depth::full;
    bool is_complete = true;        // all unreachable objects were searched for owners
    std::uint64_t unreachable = 0;  // objects
    std::uint64_t reclaimed = 0;    // objects, according to the collector
    std::uint64_t examined = 0;     // objects; 0: unknown
    double own_seconds = 0;
    double collector_seconds = 0;   // the rest
    double collection_seconds = 0;  // until now
};

// This class is thread-safe, because the report writer's thread uses it, too. That thread must not
// hold a Watch, because destroying a Watch needs the GIL.
class StatsCounter {
  public:
    // Returns the bytes of device memory that the collection freed.
    std::uint64_t count(const CollectionCost& cost);
    void add_seconds(double own_seconds);
    void skip(const std::string& reason, std::uint64_t times);
    void add_owners(std::uint64_t owners, std::uint64_t fresh_findings);
    void set_suspected(std::uint64_t bytes);  // Stats::suspected_bytes; 0: none
    // Adds `bytes` to the device memory freed by the current collection. Call this before count().
    void add_freed(std::uint64_t bytes);
    // Adds `bytes` to the device memory freed because of an earlier collection of `generation`.
    void add_freed_later(int generation, std::uint64_t bytes);
    [[nodiscard]] model::Stats stats() const;
    [[nodiscard]] double seconds_spent() const;  // Stats::seconds
    [[nodiscard]] Clock::time_point started() const noexcept { return started_; }

  private:
    const Clock::time_point started_ = Clock::now();
    mutable std::mutex mutex_;
    model::Stats stats_;
    std::uint64_t freed_bytes_ = 0;  // by the current collection
};

}  // namespace cyclewatch::watch
