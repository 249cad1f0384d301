// SPDX-License-Identifier: Apache-2.0
#include "watch/pipeline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "collector/gc_hook.h"
#include "python/guards.h"

namespace cyclewatch::watch {
namespace {

// This reason is a string literal, because it is recorded when memory cannot be allocated.
constexpr const char* kOutOfMemory = "out of memory in the watch";

// By collector::Miss.
constexpr std::array kMissReasons{"",
                                  "the canary could not be created",
                                  "the canary was still referenced",
                                  "the collector's list was not found",
                                  "the collector's list had an unknown layout",
                                  kOutOfMemory};

// Adds the time until the end of the scope to `total`.
class ScopedTimer {
  public:
    explicit ScopedTimer(Clock::duration& total, Clock::time_point began = Clock::now())
        : total_(total), began_(began) {}
    ScopedTimer(const ScopedTimer&) = delete;
    ScopedTimer& operator=(const ScopedTimer&) = delete;
    ~ScopedTimer() { total_ += Clock::now() - began_; }

  private:
    Clock::duration& total_;
    const Clock::time_point began_;
};

void warn_of_broken_list(const Watches& watches) {
    for (const auto& watch : watches) {
        watch->log(kWarning,
                   "The garbage collector's list has an unknown layout; cyclewatch now finds "
                   "unreachable objects by scanning the heap, which is slower.");
    }
}

void forget_freed_storages(const Watches& watches, const model::CollectionRecord& record) {
    for (const auto& watch : watches) {
        watch->forget_freed_storages(&record);
    }
}

void take(const collector::CollectionOutcome& outcome, Search& collection) {
    collection.reclaimed = outcome.reclaimed;
    collection.examined = outcome.examined;
    if (!collection.listed) {
        collection.unreachable = outcome.reclaimed;
    }
    const double total =
        outcome.seconds > 0 ? outcome.seconds : seconds(Clock::now() - collection.started);
    collection.collector_seconds = std::max(total - seconds(collection.own), 0.0);
    if (outcome.miss != collector::Miss::none) {
        collection.skipped = kMissReasons.at(static_cast<std::size_t>(outcome.miss));
    }
}

}  // namespace

void Pipeline::reset() {
    collection_ = {};
    captured_.reset();
    resurrected_.clear();
}

void Pipeline::drop_capture() noexcept {
    captured_.reset();
    collection_.skipped = kOutOfMemory;
}

void Pipeline::begin(int generation) {
    captured_.reset();
    collection_ = stages_.clock.begin(generation);
    const ScopedTimer timer(collection_.own, collection_.started);
    stages_.registry.refresh();
}

bool Pipeline::wants_unreachable(const Watches& watches) noexcept {
    const Clock::time_point now = Clock::now();
    const ScopedTimer timer(collection_.own, now);
    collection_.listed =
        stages_.registry.empty() ||
        std::ranges::any_of(watches, [&](const auto& watch) { return watch->may_search(now); });
    if (!collection_.listed) {
        collection_.skipped = model::kNotSearched;
    }
    return collection_.listed;
}

void Pipeline::before_sweep(const collector::UnreachableSet& unreachable, const Watches& watches) {
    const ScopedTimer timer(collection_.own, unreachable.began());
    collection_.unreachable = unreachable.objects().size();

    // Find the owners, read them, and capture the references that lead to them. This runs the
    // user's readers, which may stop the last watch. Stopping it resets `collection_`.
    const Search search = collection_;
    GarbageReading reading = stages_.reader.read(unreachable, search, watches);
    if (collection_.started != search.started) {
        return;
    }
    collection_.depth = reading.depth;
    if (*reading.skipped != '\0') {
        collection_.skipped = reading.skipped;
    }
    captured_ = std::move(reading.captured);
    if (captured_ == nullptr) {
        return;
    }

    // Sample the memory in use.
    if (collection_.depth == Depth::full) {
        captured_->memory = sampler_.before(captured_->observation.storages);
    }
    collector::change_young_count(captured_->objects_made);
}

void Pipeline::after_sweep(const collector::CollectionOutcome& outcome, const Watches& watches) {
    take(outcome, collection_);
    const ScopedTimer timer(collection_.own);
    if (outcome.miss == collector::Miss::broken_list) {
        warn_of_broken_list(watches);
    }
    const model::CollectionRecord record = stages_.clock.record(collection_, Clock::now());
    std::unique_ptr<CapturedCollection> captured = std::move(captured_);
    if (captured == nullptr) {
        forget_freed_storages(watches, record);
        return;
    }

    // Check which owners and storages were freed; sample the memory in use again.
    check_freed(*captured);
    sampler_.after(captured->memory);
    captured->swept_at = wall_time();
    collector::change_young_count(-captured->objects_left);
    resurrected_.forget(*captured);

    // For each watch: select its owners, find the cycles and the references to cut, store the
    // findings, and queue the notifications.
    stages_.reporter.report(*captured, record, collection_, watches);

    forget_freed_storages(watches, record);
    if (collection_.unreachable > collection_.reclaimed && mark_resurrected(*captured)) {
        resurrected_.keep(std::move(captured), record, collection_, watches);
    }
}

void Pipeline::report_resurrected(const Watches& watches) {
    if (resurrected_.empty()) {
        return;
    }
    // The weak references that are freed here were subtracted from the count when they were kept.
    const python::YoungCountGuard young_count;
    while (const auto freed = resurrected_.take_freed()) {
        Watches active;
        std::ranges::copy_if(freed->watches, std::back_inserter(active), [&](const auto& watch) {
            return std::ranges::find(watches, watch) != watches.end();
        });
        stages_.reporter.report(*freed->captured, freed->record, freed->search, active);
    }
}

}  // namespace cyclewatch::watch
