// SPDX-License-Identifier: Apache-2.0
#include "watch/stats_counter.h"

#include <algorithm>
#include <utility>

namespace cyclewatch::watch {

std::uint64_t StatsCounter::count(const CollectionCost& cost) {
    const std::lock_guard lock(mutex_);
    ++(cost.scan ? stats_.scans : stats_.collections);
    stats_.unreachable += cost.unreachable;
    stats_.seconds += cost.own_seconds;
    if (cost.scan) {
        return 0;
    }
    stats_.collection_seconds += cost.collection_seconds;
    model::GenerationTotals& totals = model::totals_of(stats_, cost.generation);
    ++totals.collections;
    totals.seconds += cost.collector_seconds;
    totals.examined += cost.examined;
    totals.reclaimed += cost.reclaimed;
    const std::uint64_t freed = std::exchange(freed_bytes_, 0);
    totals.freed_bytes += freed;
    totals.freeing += freed > 0 ? 1 : 0;
    totals.freeing_seconds += freed > 0 ? cost.collector_seconds : 0;
    return freed;
}

void StatsCounter::add_seconds(double own_seconds) {
    const std::lock_guard lock(mutex_);
    stats_.seconds += own_seconds;
}

void StatsCounter::add_freed(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    freed_bytes_ += bytes;
}

void StatsCounter::add_freed_later(int generation, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    model::GenerationTotals& totals = model::totals_of(stats_, generation);
    totals.freed_bytes += bytes;
    totals.freeing += bytes > 0 ? 1 : 0;
    totals.freeing = std::min(totals.freeing, totals.collections);
}

void StatsCounter::skip(const std::string& reason, std::uint64_t times) {
    const std::lock_guard lock(mutex_);
    stats_.skipped[reason] += times;
}

void StatsCounter::add_owners(std::uint64_t owners, std::uint64_t fresh_findings) {
    const std::lock_guard lock(mutex_);
    stats_.owners += owners;
    stats_.findings += fresh_findings;
}

void StatsCounter::set_suspected(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    stats_.suspected_bytes = bytes == 0 ? std::nullopt : std::optional(bytes);
}

double StatsCounter::seconds_spent() const {
    const std::lock_guard lock(mutex_);
    return stats_.seconds;
}

model::Stats StatsCounter::stats() const {
    const std::lock_guard lock(mutex_);
    model::Stats stats = stats_;
    stats.elapsed = seconds(Clock::now() - started_);
    model::update_shares(stats);
    return stats;
}

}  // namespace cyclewatch::watch
