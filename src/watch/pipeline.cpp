// SPDX-License-Identifier: Apache-2.0
#include "watch/pipeline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "analysis/analyze.h"
#include "base/text.h"
#include "capture/graph_capture.h"
#include "collector/gc_hook.h"
#include "collector/never_freed.h"
#include "collector/object_arrays.h"
#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "device/device_memory.h"
#include "python/guards.h"
#include "python/stop_the_world.h"
#include "watch/known_findings.h"
#include "watch/program_info.h"

namespace cyclewatch::watch {
namespace {

constexpr std::uint64_t kLeanObjects = 2'000;
constexpr std::size_t kMostResurrected = 64;  // collections

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

// The minimum of the depths that the individual watches' budgets allow, but at least `lean` if any
// watch can afford a search.
Depth lowest_depth(const Watches& watches, Clock::time_point now, std::uint64_t unreachable) {
    Depth lowest = Depth::full;
    Depth highest = Depth::none;
    for (const auto& watch : watches) {
        const Depth depth = watch->depth(now, unreachable);
        lowest = std::max(lowest, depth);
        highest = std::min(highest, depth);
    }
    return highest == Depth::none ? Depth::none : std::min(lowest, Depth::lean);
}

bool is_on_cuda(const model::Storage& storage) {
    return storage.device.starts_with("cuda:");
}

// Makes later scans omit the storages that this scan has reported.
void remember(CapturedCollection& captured, model::Collected state, Watch& watch) {
    for (PendingOwner& owner : captured.owners) {
        if (owner.freed) {
            watch.reported().add(owner.reading,
                                 std::move(owner.weakref),
                                 state,
                                 captured.signatures.empty() ? std::vector<std::string>()
                                                             : captured.signatures[owner.storage]);
        }
    }
}

void note_array_failure(Watch& watch) {
    if (!collector::array_failure().empty()) {
        watch.note_failures({collector::array_failure()});
    }
}

void add_arrays(collector::HiddenReferences& hidden) {
    collector::TrackedObjects objects;
    if (!objects.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
    collector::add_array_references(objects.objects(), hidden);
}

// If only one finding can explain the memory that no owner explains, assigns this memory to it.
void add_unowned_bytes(const model::CollectionRecord& record,
                       std::vector<model::Finding>& findings) {
    model::Finding* only = nullptr;
    for (model::Finding& finding : findings) {
        if (finding.unowned_bytes) {
            finding.unowned_bytes = 0;
            if (only != nullptr) {
                return;
            }
            only = &finding;
        }
    }
    for (const model::DeviceMemory& sample : record.device_memory) {
        if (only != nullptr) {
            *only->unowned_bytes += sample.unowned_bytes.value_or(0);
        }
    }
}

void forget_freed_storages(const Watches& watches) {
    for (const auto& watch : watches) {
        watch->forget_freed_storages(true);
    }
}

}  // namespace

bool Pipeline::wants_unreachable(const Watches& watches) noexcept {
    const Clock::time_point now = Clock::now();
    const ScopedTimer timer(collection_.own, now);
    collection_.listed = registry_.empty() || std::ranges::any_of(watches, [&](const auto& watch) {
                             return watch->may_search(now);
                         });
    if (!collection_.listed) {
        collection_.skipped = model::kNotSearched;
    }
    return collection_.listed;
}

void Pipeline::before_sweep(const collector::UnreachableSet& unreachable, const Watches& watches) {
    const ScopedTimer timer(collection_.own, unreachable.began());
    capture(unreachable, watches, Depth::full, collection_);
    if (collection_.captured != nullptr) {
        collector::change_young_count(collection_.captured->objects_made);
    }
}

void Pipeline::capture(const collector::UnreachableSet& unreachable,
                       const Watches& watches,
                       Depth least_depth,
                       Current& current) {
    current.unreachable = unreachable.objects().size();
    if (registry_.empty()) {
        return;  // no library that can own device memory is imported
    }
    const bool scan = current.collected != model::Collected::yes;
    Depth depth = lowest_depth(watches, current.started, current.unreachable);
    if (depth == Depth::none && scan) {
        depth = Depth::lean;  // decided by Watch::due_scan()
    }
    current.depth = std::max(least_depth, depth);
    if (current.depth == Depth::none) {
        if (current.unreachable > 0) {
            current.skipped = model::kNotSearched;
        }
        return;
    }
    accelerator_usable_ = device::accelerator_usable();
    const DeviceFilter watched = [&](std::string_view device) {
        return std::ranges::any_of(
            watches, [&](const auto& watch) { return watch->wants(device, accelerator_usable_); });
    };

    // 1. Find owners among the unreachable objects, and among the objects that only unreachable
    //    objects keep alive.
    device::Detection detection;
    python::with_world_stopped([&] { detector_.detect(unreachable, registry_, detection); });
    PyErr_Clear();  // a type whose tp_traverse raises
    if (detection.owners.empty()) {
        return;
    }

    // 2. Read the device, the size and the storage of each owner.
    const Clock::time_point started = current.started;
    auto captured = std::make_unique<CapturedCollection>();
    const bool explained =
        unreachable.hidden() != nullptr && unreachable.hidden()->explains_tensors;
    const KnownStorages known = [&](device::OwnerReading& reading) {
        return watches.front()->reported().contains(reading.device, reading.storage) ||
               (current.settles && !suspects_.is_settled(reading));
    };
    OwnerReadings readings(*captured, watched, scan ? &known : nullptr, &claims_, explained);
    readings.read(detection.owners);

    // 3. Capture the references that lead to the owners.
    capture_graph(unreachable, detection, readings, watches, current, *captured);

    // 4. Run the user's readers. This is the last step that uses objects, because the readers may
    //    free objects that were only borrowed.
    detection.held.clear();
    readings.read_with_user_code();

    // 5. Sample the memory in use, except in a scan, which frees nothing.
    if (current.depth == Depth::full && !scan) {
        captured->memory = sampler_.before(captured->observation.storages);
    }
    if (std::ranges::any_of(captured->observation.storages, is_on_cuda)) {
        captured->cuda_error = device::pending_error();
    }
    captured->unreachable_at = wall_time();
    // The user's readers may have stopped the last watch. Stopping it resets `current`.
    if (current.started == started) {
        current.captured = std::move(captured);
    }
}

void Pipeline::after_sweep(const collector::CollectionOutcome& outcome, const Watches& watches) {
    const collector::Miss miss = outcome.miss;
    collection_.reclaimed = outcome.reclaimed;
    collection_.examined = outcome.examined;
    if (!collection_.listed) {
        collection_.unreachable = outcome.reclaimed;
    }
    const double total =
        outcome.seconds > 0 ? outcome.seconds : seconds(Clock::now() - collection_.started);
    collection_.collector_seconds = std::max(total - seconds(collection_.own), 0.0);
    const ScopedTimer timer(collection_.own);
    if (miss != collector::Miss::none) {
        collection_.skipped = kMissReasons.at(static_cast<std::size_t>(miss));
    }
    if (miss == collector::Miss::broken_list) {
        for (const auto& watch : watches) {
            watch->log(kWarning,
                       "The garbage collector's list has an unknown layout; cyclewatch now finds "
                       "unreachable objects by scanning the heap, which is slower.");
        }
    }
    const model::CollectionRecord record = make_record(collection_, Clock::now());
    std::unique_ptr<CapturedCollection> captured = std::move(collection_.captured);
    if (captured == nullptr) {
        forget_freed_storages(watches);
        return;
    }

    // 6. Check which owners and storages were freed; sample the memory in use again.
    check_freed(*captured);
    sampler_.after(captured->memory);
    captured->swept_at = wall_time();
    collector::change_young_count(-captured->objects_left);

    forget_resurrected(*captured);
    report(*captured, record, watches, collection_);
    forget_freed_storages(watches);
    if (collection_.unreachable > collection_.reclaimed && mark_resurrected(*captured)) {
        keep_resurrected(std::move(captured), record, watches);
    }
}

void Pipeline::forget_resurrected(const CapturedCollection& found) {
    if (resurrected_.empty()) {
        return;
    }
    std::set<std::pair<std::string_view, std::uint64_t>> storages;
    for (const PendingOwner& owner : found.owners) {
        storages.emplace(owner.reading.device, owner.reading.storage);
    }
    std::erase_if(resurrected_, [&](const Resurrected& each) {
        return std::ranges::any_of(each.captured->owners, [&](const PendingOwner& owner) {
            return storages.contains({owner.reading.device, owner.reading.storage});
        });
    });
}

void Pipeline::keep_resurrected(std::unique_ptr<CapturedCollection> captured,
                                const model::CollectionRecord& record,
                                const Watches& watches) {
    if (resurrected_.size() >= kMostResurrected) {
        for (const auto& watch : watches) {
            watch->skip("owners resurrected by a finalizer");
        }
        return;
    }
    // Tracked weak references would be part of later collections, and change when these run.
    for (const PendingOwner& owner : captured->owners) {
        if (owner.weakref && Py_REFCNT(owner.weakref.get()) == 1) {
            PyObject_GC_UnTrack(owner.weakref.get());
        }
    }
    Resurrected& added = resurrected_.emplace_back();
    added.record = record;
    added.record.note = model::kFreedLater;
    added.record.step = watches.empty() ? -1 : watches.front()->step();
    added.collection.generation = collection_.generation;
    added.collection.started = collection_.started;
    added.captured = std::move(captured);
    added.watches = watches;
}

void Pipeline::report_resurrected(const Watches& watches) {
    if (resurrected_.empty()) {
        return;
    }
    // The weak references that are freed here were subtracted from the count when they were kept.
    const python::YoungCountGuard young_count;
    for (std::size_t i = 0; i < resurrected_.size();) {
        if (!freed_resurrected(*resurrected_[i].captured)) {
            ++i;
            continue;
        }
        const Resurrected each = std::move(resurrected_[i]);
        resurrected_.erase(resurrected_.begin() + static_cast<std::ptrdiff_t>(i));
        Watches active;
        std::ranges::copy_if(each.watches, std::back_inserter(active), [&](const auto& watch) {
            return std::ranges::find(watches, watch) != watches.end();
        });
        report(*each.captured, each.record, active, each.collection);
    }
}

void Pipeline::report(CapturedCollection& captured,
                      const model::CollectionRecord& record,
                      const Watches& watches,
                      const Current& current) {
    const CollectedStorages storages = collected_storages(captured, record.scan);
    log_contradictions(captured, watches);
    for (const std::shared_ptr<Watch>& watch : watches) {
        // 7. Select the owners on the devices of this watch.
        const model::Observation& observation =
            select_owners(captured, devices_of(*watch), *watch, record, current.started);
        count_omissions(*watch, captured);
        if (observation.record.owners == 0) {
            continue;
        }

        // 8. Find the cycles, and the references to cut. 9. Assign patterns and statuses.
        std::vector<model::Finding> findings = find(observation, captured, *watch, current);
        add_unowned_bytes(observation.record, findings);

        // 10. Store the findings; update the report file.
        if (record.scan) {
            captured.signatures = signatures_by_storage(captured, findings);
        }
        std::vector<SiteRequest> requests = take_site_requests(findings, storages);
        const std::shared_ptr<CollectionResult> result =
            watch->add(observation.record, std::move(findings), captured.is_known);

        // 11. Queue the lookup of allocation sites, then the notifications.
        site_lookup_.enqueue(watch, result, std::move(requests));
        watch->describe_devices(observation, captured.cuda_error);
        watch->notify(observation.record, result);
    }
}

std::vector<model::Finding> Pipeline::find(const model::Observation& observation,
                                           const CapturedCollection& captured,
                                           Watch& watch,
                                           const Current& current) {
    const FreedCopies freed = freed_copies(captured);
    if (captured.is_known) {
        // A watch that was started during this collection does not know the findings.
        std::vector<model::Finding> findings;
        if (freed.whole > 0 && watch.known().contains(captured.shape, true)) {
            findings = watch.known().findings(captured.shape, freed.whole);
        }
        if (freed.in_part > 0) {
            watch.known().reject(captured.shape);
            watch.skip("cycles not analyzed: some of their objects were resurrected",
                       freed.in_part);
        }
        return findings;
    }
    std::vector<model::Finding> findings =
        analysis::analyze(observation, current.collected != model::Collected::uncollectable);
    for (model::Finding& finding : findings) {
        finding.collected = current.collected;
        rules_.judge(finding, loaded_version);
    }
    const bool is_complete = observation.omitted_nodes == 0 &&
                             observation.omitted_references == 0 &&
                             (observation.repeats.empty() || captured.shape.copies > 1);
    if (is_complete && freed.whole == captured.shape.copies) {
        watch.known().add(captured.shape, findings);
    }
    return findings;
}

void Pipeline::reset() {
    site_lookup_ = {};
    suspects_ = {};
    resurrected_.clear();
    collection_ = {};
    collections_ = 0;
}

void Pipeline::begin(int generation) {
    collection_ = {};
    begin(collection_, generation);
}

void Pipeline::begin(Current& current, int generation) {
    current.started = Clock::now();
    const ScopedTimer timer(current.own, current.started);
    current.generation = generation;
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
    watch->forget_freed_storages(false);
    // Uses a local variable instead of collection_, because readers run Python code, which may
    // start other collections.
    Current current;
    begin(current, scope.generation);
    collector::HeapScan heap;
    const auto find = [&] {
        if (collector::scan_heap(scope, heap)) {
            return;
        }
        if (CYCLEWATCH_HAS_NO_GIL) {
            throw std::runtime_error(
                "cyclewatch could not scan the heap: other threads created objects during every "
                "attempt, or there was not enough memory.");
        }
        throw std::bad_alloc();
    };
    find();
    const std::size_t unreachable =
        heap.collectable.objects().size() + heap.frozen.objects().size();
    for (const auto collected : {model::Collected::not_yet, model::Collected::never}) {
        const bool frozen = collected == model::Collected::never;
        current.collected = collected;
        capture(frozen ? heap.frozen : heap.collectable, {watch}, least_depth, current);
        if (const auto captured = std::move(current.captured)) {
            check_references(*captured);
            finish(*captured, current);
            if (captured->ran_user_code) {
                find();  // that code may have freed the frozen objects
            }
        }
    }
    if (scope.generation == 2 && scope.frozen) {
        scan_arrays(watch, least_depth, current, finish);
    }
    current.unreachable = unreachable;
    current.own = Clock::now() - current.started;
    count(current, {watch});
}

void Pipeline::scan_arrays(const std::shared_ptr<Watch>& watch,
                           Depth least_depth,
                           Current& current,
                           const Finish& finish) {
    note_array_failure(*watch);
    collector::HiddenReferences hidden;
    add_arrays(hidden);
    collector::UnreachableSet found;
    if (hidden.empty()) {
        return;
    }
    if (!collector::find_never_freed(hidden, found)) {
        throw std::bad_alloc();
    }
    current.collected = model::Collected::uncollectable;
    capture(found, {watch}, least_depth, current);
    if (const auto captured = std::move(current.captured)) {
        check_references(*captured);
        finish(*captured, current);
    }
}

void Pipeline::report_found(CapturedCollection& captured,
                            const std::shared_ptr<Watch>& watch,
                            Current& current) {
    const Clock::time_point now = Clock::now();
    current.own = now - current.started;
    report(captured, make_record(current, now), {watch}, current);
    remember(captured, current.collected, *watch);
}

DeadBytes Pipeline::scan(const std::shared_ptr<Watch>& watch, collector::HeapScope scope) {
    DeadBytes dead;
    scan_each(watch, scope, Depth::full, [&](CapturedCollection& captured, Current& current) {
        report_found(captured, watch, current);
        if (current.collected != model::Collected::uncollectable) {
            (current.collected == model::Collected::never ? dead.frozen : dead.collectable) =
                captured.observation.record.released_bytes;
        }
    });
    return dead;
}

void Pipeline::find_never_freed(const std::shared_ptr<Watch>& watch,
                                const device::TorchLayout& layout,
                                int settle) {
    const python::ErrorStash stash;
    const python::GcPause pause;
    python::YoungCountGuard young_count;
    watch->forget_freed_storages(false);
    Current current;
    begin(current, 2);
    current.collected = model::Collected::uncollectable;
    current.settles = true;
    note_array_failure(*watch);
    collector::HiddenReferences hidden;
    const std::size_t made = list_hidden_references(layout, hidden);
    young_count.change(static_cast<int>(made));
    collector::UnreachableSet found;
    if (!collector::find_never_freed(hidden, found)) {
        throw std::bad_alloc();
    }
    suspects_.begin(settle);
    capture(found, {watch}, Depth::full, current);
    suspects_.end();
    if (const auto captured = std::move(current.captured)) {
        check_references(*captured);
        report_found(*captured, watch, current);
    }
    if (suspects_.count() > 0) {
        watch->log(kInfo,
                   base::counted(suspects_.count(), "storage") + " (" +
                       base::format_bytes(suspects_.bytes()) +
                       (suspects_.count() == 1 ? ") is" : ") are") +
                       " suspected to be never freed: found, but not yet in " +
                       std::to_string(settle + 1) +
                       " searches in a row, and not in growing numbers.");
    }
    if (made > 0) {
        watch->log(kInfo,
                   "The search for never freed memory made torch create " +
                       base::counted(made, "Python object") +
                       " for autograd nodes and saved tensors. They are freed with the nodes.");
    }
    current.own = Clock::now() - current.started;
    count(current, {watch});
}

// Returns the number of objects that the libraries created.
std::size_t Pipeline::list_hidden_references(const device::TorchLayout& layout,
                                             collector::HiddenReferences& hidden) {
    collector::TrackedObjects objects;
    if (!objects.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
    registry_.add_hidden_references(objects.objects(), layout, hidden);
    collector::add_array_references(objects.objects(), hidden);
    std::vector<PyObject*> held;
    for (const python::OwnedRef& each : hidden.held) {
        held.push_back(each.get());
    }
    collector::PointerIndex examined;
    examined.build(held);
    return held.size() -
           static_cast<std::size_t>(std::ranges::count_if(objects.objects(), [&](PyObject* object) {
               return examined.find(object) != collector::PointerIndex::kAbsent;
           }));
}

std::map<std::string, std::uint64_t> Pipeline::dead_bytes(const std::shared_ptr<Watch>& watch,
                                                          collector::HeapScope scope,
                                                          bool with_unexplained) {
    std::map<std::string, std::uint64_t> bytes;
    scan_each(watch,
              scope,
              Depth::owners_only,
              [&](CapturedCollection& captured, const Current& current) {
                  for (const model::Storage& storage : captured.observation.storages) {
                      if (storage.released || with_unexplained) {
                          bytes[storage.device] += storage.bytes;
                      }
                  }
                  remember(captured, current.collected, *watch);
              });
    return bytes;
}

void Pipeline::capture_graph(const collector::UnreachableSet& unreachable,
                             const device::Detection& detection,
                             const OwnerReadings& readings,
                             const Watches& watches,
                             const Current& current,
                             CapturedCollection& captured) {
    if (current.depth == Depth::owners_only || readings.objects().empty()) {
        return;
    }
    capture::CaptureLimits limits;
    // All watches share the graph, so dict keys are captured only if all watches allow it.
    limits.values = std::ranges::all_of(
        watches, [](const auto& watch) { return watch->settings().capture_values; });
    if (current.depth == Depth::lean) {
        limits.max_objects = kLeanObjects;
    }
    // Known findings cannot be used for a scan, because earlier scans determine which owners it
    // reports. Known findings also cannot be used if user code has yet to read some owners.
    const bool may_be_known =
        current.collected == model::Collected::yes && !readings.needs_user_code();
    python::with_world_stopped([&] {
        capture::GraphCapture graph(
            unreachable.objects(), detection.dependents, readings.objects(), unreachable.hidden());
        captured.is_known = may_be_known && recognize(graph, watches, limits.values, captured);
        if (!captured.is_known) {
            captured.take(graph.capture(limits));
            read_allocation_stacks(captured, readings.objects());
        }
    });
    PyErr_Clear();
}

bool Pipeline::recognize(capture::GraphCapture& graph,
                         const Watches& watches,
                         bool values,
                         CapturedCollection& captured) {
    // Known findings cannot be used if a scan has reported storages, because those storages must
    // not be counted again.
    if (!std::ranges::all_of(watches,
                             [](const auto& watch) { return watch->reported().empty(); })) {
        return false;
    }
    captured.shape = shape_of(graph.identify(identifier_, values), captured);
    return std::ranges::all_of(watches, [&](const auto& watch) {
        watch->known().use_rules(rules_.version());
        return watch->known().contains(captured.shape, watch->settings().min_bytes == 0);
    });
}

DeviceFilter Pipeline::devices_of(const Watch& watch) const {
    return [&watch, usable = accelerator_usable_](std::string_view device) {
        return watch.wants(device, usable);
    };
}

// The time since the last collection of this or an older generation; 0 if unknown. During that
// collection, the objects that are now unreachable were still reachable or did not exist yet.
double Pipeline::dead_for_at_most(const Current& current, Clock::time_point now) {
    if (current.collected >= model::Collected::never) {
        return 0;  // no collection would have freed them
    }
    const int reached = CYCLEWATCH_COLLECTIONS_ARE_FULL ? 2 : current.generation;
    const auto generation = static_cast<std::size_t>(std::clamp(reached, 0, 2));
    const Clock::time_point last =
        *std::max_element(last_of_generation_.begin() + generation, last_of_generation_.end());
    if (current.collected == model::Collected::yes) {
        last_of_generation_[generation] = now;
    }
    return last == Clock::time_point() ? 0 : seconds(current.started - last);
}

model::CollectionRecord Pipeline::make_record(const Current& current, Clock::time_point now) {
    model::CollectionRecord record;
    record.number = collections_;
    record.generation = current.generation;
    record.duration = seconds(now - current.started);
    record.own_seconds = seconds(current.own);
    record.scan = current.collected != model::Collected::yes;
    record.dead_for_at_most = dead_for_at_most(current, now);
    record.unreachable = current.unreachable;
    record.note = current.skipped;
    return record;
}

void Pipeline::count_omissions(Watch& watch, const CapturedCollection& captured) {
    watch.skip("owners whose reader failed", captured.failed_readings);
    for (const auto& [type, contradiction] : captured.contradictions) {
        watch.skip(
            "owners of type " + base::clean_text(type) + " whose device or size CUDA contradicts",
            contradiction.owners);
    }
    watch.skip("objects not captured: over the limit for one collection",
               captured.observation.omitted_nodes);
    watch.skip("references not captured: over the limit for one collection",
               captured.observation.omitted_references);
}

void Pipeline::log_contradictions(const CapturedCollection& captured, const Watches& watches) {
    for (const auto& [type, contradiction] : captured.contradictions) {
        if (!logged_contradictions_.insert(type).second) {
            continue;
        }
        for (const auto& watch : watches) {
            watch->log(kWarning,
                       base::clean_text(type) + " " + contradiction.description +
                           ". Such owners are not reported, but counted.");
        }
    }
}

void Pipeline::drop_capture() noexcept {
    collection_.captured.reset();
    collection_.skipped = kOutOfMemory;
}

void Pipeline::count(const Current& current, const Watches& watches) noexcept {
    const CollectionCost cost{.scan = current.collected != model::Collected::yes,
                              .generation = current.generation,
                              .depth = current.depth,
                              .is_complete = *current.skipped == '\0',
                              .unreachable = current.unreachable,
                              .reclaimed = current.reclaimed,
                              .examined = current.examined,
                              .own_seconds = seconds(current.own),
                              .collector_seconds = current.collector_seconds,
                              .collection_seconds = seconds(Clock::now() - current.started)};
    try {
        for (const auto& watch : watches) {
            watch->count(cost);
            if (*current.skipped != '\0') {
                watch->skip(current.skipped);
            }
        }
    } catch (...) {
        // Out of memory. Only statistics are lost.
    }
}

}  // namespace cyclewatch::watch
