// SPDX-License-Identifier: Apache-2.0
#include "watch/pipeline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "analysis/analyze.h"
#include "capture/graph_capture.h"
#include "collector/gc_hook.h"
#include "compat/features.h"
#include "device/device_memory.h"
#include "python/guards.h"
#include "python/stop_the_world.h"
#include "watch/program_info.h"

namespace cyclewatch::watch {
namespace {

constexpr std::uint64_t kLeanObjects = 2'000;

// A string literal, because it is recorded when memory cannot be allocated.
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

// Saves the current collection, which another thread may be in, for a scan.
template <typename Current>
class RestoredAtEnd {
  public:
    explicit RestoredAtEnd(Current& current)
        : current_(current), saved_(std::exchange(current, {})) {}
    RestoredAtEnd(const RestoredAtEnd&) = delete;
    RestoredAtEnd& operator=(const RestoredAtEnd&) = delete;
    ~RestoredAtEnd() { current_ = std::move(saved_); }

  private:
    Current& current_;
    Current saved_;
};

Depth lowest_depth(const Watches& watches, Clock::time_point now) {
    Depth depth = Depth::full;
    for (const auto& watch : watches) {
        depth = std::max(depth, watch->depth(now));
    }
    return depth;
}

// Later scans leave out what this one has reported.
void remember(CapturedCollection& captured, model::Collected state, Watch& watch) {
    for (PendingOwner& owner : captured.owners) {
        if (owner.freed) {
            watch.reported().add(owner.reading, std::move(owner.weakref), state);
        }
    }
}

}  // namespace

void Pipeline::before_sweep(const collector::UnreachableSet& unreachable, const Watches& watches) {
    const ScopedTimer timer(current_.own, unreachable.began());
    capture(unreachable, watches, Depth::full);
    if (current_.captured != nullptr) {
        collector::change_young_count(current_.captured->objects_made);
    }
}

void Pipeline::capture(const collector::UnreachableSet& unreachable,
                       const Watches& watches,
                       Depth least_depth) {
    current_.unreachable = unreachable.objects().size();
    if (registry_.empty()) {
        return;  // no library that can own device memory is imported
    }
    current_.depth = std::max(least_depth, lowest_depth(watches, current_.started));
    accelerator_usable_ = device::accelerator_usable();
    const DeviceFilter watched = [&](std::string_view device) {
        return std::ranges::any_of(
            watches, [&](const auto& watch) { return watch->wants(device, accelerator_usable_); });
    };

    // 1. Find owners among the unreachable objects and the objects that only they keep alive.
    device::Detection detection;
    python::with_world_stopped([&] { detector_.detect(unreachable, registry_, detection); });
    PyErr_Clear();  // a type whose tp_traverse raises
    if (detection.owners.empty()) {
        return;
    }

    // 2. Read the device, the size and the storage of each owner.
    current_.captured = std::make_unique<CapturedCollection>();
    const KnownStorages known = [&](const device::OwnerReading& reading) {
        return watches.front()->reported().contains(reading.device, reading.storage);
    };
    const bool scan = current_.collected != model::Collected::yes;
    OwnerReadings readings(*current_.captured, watched, scan ? &known : nullptr);
    readings.read(detection.owners);

    // 3. Capture the references that lead to the owners.
    capture_graph(unreachable, detection, readings, watches);

    // 4. Run the user's readers. Last, because they may free objects that were only borrowed.
    detection.held.clear();
    readings.read_with_user_code();

    // 5. Sample the memory in use. A scan does not change it.
    if (current_.depth == Depth::full && !scan) {
        current_.captured->memory = sampler_.before(current_.captured->observation.storages);
    }
    current_.captured->unreachable_at = device::WallTime::now();
}

void Pipeline::after_sweep(collector::Miss miss, const Watches& watches) {
    const ScopedTimer timer(current_.own);
    if (miss != collector::Miss::none) {
        current_.skipped = kMissReasons.at(static_cast<std::size_t>(miss));
    }
    if (miss == collector::Miss::broken_list) {
        for (const auto& watch : watches) {
            watch->log(kWarning,
                       "The garbage collector's list has an unknown layout; cyclewatch now finds "
                       "unreachable objects by scanning the heap, which is slower.");
        }
    }
    const model::CollectionRecord record = make_record(Clock::now());
    const std::unique_ptr<CapturedCollection> captured = std::move(current_.captured);
    if (captured == nullptr) {
        return;
    }

    // 6. Check which owners and storages were freed; sample the memory in use again.
    check_freed(*captured);
    sampler_.after(captured->memory);
    captured->swept_at = device::WallTime::now();
    collector::change_young_count(-captured->objects_left);

    report(*captured, record, watches);
    for (const auto& watch : watches) {
        watch->update_collected();
    }
    log_failed_readers(watches);
}

void Pipeline::report(CapturedCollection& captured,
                      const model::CollectionRecord& record,
                      const Watches& watches) {
    const CollectedStorages storages = collected_storages(captured, record.scan);
    for (const std::shared_ptr<Watch>& watch : watches) {
        // 7. Select the owners on the devices of this watch.
        const model::Observation& observation =
            select_owners(captured, devices_of(*watch), *watch, record, current_.started);
        count_omissions(*watch, captured);
        if (observation.record.owners == 0) {
            continue;
        }

        // 8. Find the cycles, and the references to cut.
        std::vector<model::Finding> findings = analysis::analyze(observation);

        // 9. Assign patterns and statuses.
        for (model::Finding& finding : findings) {
            rules_.judge(finding, loaded_version);
            finding.collected = current_.collected;
        }

        // 10. Store the findings; update the report file.
        std::vector<SiteRequest> requests = take_site_requests(findings, storages);
        const std::shared_ptr<CollectionResult> result =
            watch->add(observation.record, std::move(findings));

        // 11. Queue the lookup of allocation sites, then the notifications.
        site_lookup_.enqueue(watch, result, std::move(requests));
        watch->notify(observation.record, result);
    }
}

void Pipeline::reset() {
    site_lookup_ = {};
    current_ = {};
    collections_ = 0;
}

void Pipeline::begin(int generation) {
    const Clock::time_point started = Clock::now();
    current_ = {};
    const ScopedTimer timer(current_.own, started);
    current_.generation = generation;
    current_.started = started;
    ++collections_;
    registry_.refresh();
}

void Pipeline::scan_each(const std::shared_ptr<Watch>& watch,
                         collector::HeapScope scope,
                         Depth least_depth,
                         const Finish& finish) {
    const python::ErrorStash stash;
    const python::GcPause pause;
    const python::YoungCountGuard young_count;
    const RestoredAtEnd collection(current_);
    watch->reported().forget_freed();
    begin(scope.generation);
    collector::HeapScan heap;
    const auto find = [&] {
        if (!collector::scan_heap(scope, heap)) {
            throw std::bad_alloc();
        }
    };
    find();
    const std::size_t unreachable =
        heap.collectable.objects().size() + heap.frozen.objects().size();
    for (const auto collected : {model::Collected::not_yet, model::Collected::never}) {
        const bool frozen = collected == model::Collected::never;
        current_.collected = collected;
        capture(frozen ? heap.frozen : heap.collectable, {watch}, least_depth);
        if (const auto captured = std::move(current_.captured)) {
            check_references(*captured);
            finish(*captured);
            if (captured->ran_user_code) {
                find();  // it may have freed the frozen objects
            }
        }
    }
    current_.unreachable = unreachable;
    current_.own = Clock::now() - current_.started;
    count({watch});
    log_failed_readers({watch});
}

DeadBytes Pipeline::scan(const std::shared_ptr<Watch>& watch, collector::HeapScope scope) {
    DeadBytes dead;
    scan_each(watch, scope, Depth::full, [&](CapturedCollection& captured) {
        const Clock::time_point now = Clock::now();
        current_.own = now - current_.started;
        report(captured, make_record(now), {watch});
        (current_.collected == model::Collected::never ? dead.frozen : dead.collectable) =
            captured.observation.record.released_bytes;
        remember(captured, current_.collected, *watch);
    });
    return dead;
}

std::map<std::string, std::uint64_t> Pipeline::dead_bytes(const std::shared_ptr<Watch>& watch,
                                                          collector::HeapScope scope) {
    std::map<std::string, std::uint64_t> bytes;
    scan_each(watch, scope, Depth::owners_only, [&](CapturedCollection& captured) {
        for (const model::Storage& storage : captured.observation.storages) {
            if (storage.released) {
                bytes[storage.device] += storage.bytes;
            }
        }
        remember(captured, current_.collected, *watch);
    });
    return bytes;
}

void Pipeline::capture_graph(const collector::UnreachableSet& unreachable,
                             const device::Detection& detection,
                             const OwnerReadings& readings,
                             const Watches& watches) {
    if (current_.depth == Depth::owners_only || readings.objects().empty()) {
        return;
    }
    capture::CaptureLimits limits;
    // All watches share the graph, so keys are captured only if all of them allow it.
    limits.values = std::ranges::all_of(
        watches, [](const auto& watch) { return watch->settings().capture_values; });
    if (current_.depth == Depth::lean) {
        limits.max_objects = kLeanObjects;
    }
    python::with_world_stopped([&] {
        current_.captured->take(capture::capture_graph(
            unreachable.objects(), detection.dependents, readings.objects(), limits));
    });
    PyErr_Clear();
}

DeviceFilter Pipeline::devices_of(const Watch& watch) const {
    return [&watch, usable = accelerator_usable_](std::string_view device) {
        return watch.wants(device, usable);
    };
}

// The time since the last collection of this or an older generation. Objects that are unreachable
// now were alive then, or did not exist. 0: unknown.
double Pipeline::dead_for_at_most(Clock::time_point now) {
    if (current_.collected == model::Collected::never) {
        return 0;  // no collection would have freed them
    }
    const int reached = CYCLEWATCH_COLLECTIONS_ARE_FULL ? 2 : current_.generation;
    const auto generation = static_cast<std::size_t>(std::clamp(reached, 0, 2));
    const Clock::time_point last =
        *std::max_element(last_of_generation_.begin() + generation, last_of_generation_.end());
    if (current_.collected == model::Collected::yes) {
        last_of_generation_[generation] = now;
    }
    return last == Clock::time_point() ? 0 : seconds(current_.started - last);
}

model::CollectionRecord Pipeline::make_record(Clock::time_point now) {
    model::CollectionRecord record;
    record.number = collections_;
    record.generation = current_.generation;
    record.duration = seconds(now - current_.started);
    record.own_seconds = seconds(current_.own);
    record.scan = current_.collected != model::Collected::yes;
    record.dead_for_at_most = dead_for_at_most(now);
    record.unreachable = current_.unreachable;
    record.note = current_.depth == Depth::owners_only
                      ? "over budget: owners were counted, but no graph was captured"
                      : current_.skipped;
    return record;
}

void Pipeline::count_omissions(Watch& watch, const CapturedCollection& captured) const {
    watch.skip("owners whose reader failed", captured.failed_readings);
    watch.skip("objects not captured: over the limit for one collection",
               captured.observation.omitted_nodes);
    watch.skip("references not captured: over the limit for one collection",
               captured.observation.omitted_references);
    watch.skip("collections without a graph: over budget",
               current_.depth == Depth::owners_only ? 1 : 0);
}

void Pipeline::log_failed_readers(const Watches& watches) {
    for (const std::string& failure : registry_.take_failures()) {
        for (const auto& watch : watches) {
            watch->log(kWarning, failure);
        }
    }
}

void Pipeline::drop_capture() noexcept {
    current_.captured.reset();
    current_.skipped = kOutOfMemory;
}

void Pipeline::count(const Watches& watches) noexcept {
    const CollectionCost cost{current_.collected != model::Collected::yes,
                              current_.unreachable,
                              seconds(current_.own),
                              seconds(Clock::now() - current_.started)};
    try {
        for (const auto& watch : watches) {
            watch->count(cost);
            if (*current_.skipped != '\0') {
                watch->skip(current_.skipped);
            }
        }
    } catch (...) {
        // Out of memory: only statistics are lost.
    }
}

}  // namespace cyclewatch::watch
