// SPDX-License-Identifier: Apache-2.0
#include "watch/heap_searches.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "collector/never_freed.h"
#include "collector/object_arrays.h"
#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

// Makes later scans omit the storages that this scan has reported.
void remember(CapturedCollection& captured, model::Collected state, Watch& watch) {
    for (SavedStorage& each : captured.saved) {
        watch.reported().add_saved(each.reading,
                                   state,
                                   captured.signatures.empty() ? std::vector<std::string>()
                                                               : captured.signatures[each.of]);
    }
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

bool has_graph(const CapturedCollection& captured) {
    return std::ranges::any_of(captured.owners,
                               [](const PendingOwner& owner) { return owner.reading.has_graph; });
}

void note_array_failure(Watch& watch) {
    if (!collector::array_failure().empty()) {
        watch.note_failures({collector::array_failure()});
    }
}

void fill(collector::TrackedObjects& objects) {
    if (!objects.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
}

void find_unreachable(collector::HeapScope scope, collector::HeapScan& heap) {
    if (collector::scan_heap(scope, heap)) {
        return;
    }
    if (CYCLEWATCH_HAS_NO_GIL) {
        throw std::runtime_error(
            "cyclewatch could not scan the heap: other threads created objects during every "
            "attempt, or there was not enough memory.");
    }
    throw std::bad_alloc();
}

// Replaces the sentence of the previous search.
void log_suspects(const SuspectedStorages& suspects, int settle, Watch& watch) {
    std::string sentence;
    if (suspects.count() > 0) {
        sentence = base::counted(suspects.count(), "storage") + " (" +
                   base::format_bytes(suspects.bytes()) +
                   (suspects.count() == 1 ? ") is" : ") are") +
                   " suspected to be never freed: found, but not yet in " +
                   std::to_string(settle + 1) + " searches in a row, and not in growing numbers.";
    }
    watch.log_state(kInfo, "suspected", sentence);
    watch.set_suspected(suspects.bytes());
}

void log_omissions(const collector::HiddenReferences& hidden,
                   const device::TorchLayout& layout,
                   Watch& watch) {
    if (hidden.omits_running_graph) {
        watch.log(
            kInfo,
            "Cycles through torch's C++ objects were not searched for, because another thread "
            "runs a backward pass.");
    }
    if (hidden.omits_nodes) {
        watch.log(kInfo,
                  "Only " + base::format_count(layout.most_nodes) +
                      " tensors and autograd nodes were examined; the others count as alive.");
    }
}

void log_objects_made(std::size_t made, Watch& watch) {
    if (made > 0) {
        watch.log(kInfo,
                  "The search for never freed memory made torch create " +
                      base::counted(made, "Python object") +
                      " for autograd nodes and saved tensors. They are freed with the nodes.");
    }
}

}  // namespace

Search HeapSearches::begin(int generation, Watch& watch) {
    watch.forget_freed_storages();
    Search search = stages_.clock.begin(generation);
    stages_.registry.refresh_for_live_owners();
    return search;
}

void HeapSearches::end(Search& search, const std::shared_ptr<Watch>& watch) noexcept {
    search.own = Clock::now() - search.started;
    count(search, {watch});
}

void HeapSearches::scan_each(const std::shared_ptr<Watch>& watch,
                             collector::HeapScope scope,
                             Depth least_depth,
                             bool reads_graphs,
                             const Finish& finish,
                             LiveOwners* live) {
    const python::ErrorStash stash;
    const python::GcPause pause;
    const python::YoungCountGuard young_count;
    Search search = begin(scope.generation, *watch);
    collector::HeapScan heap;
    find_unreachable(scope, heap);
    const std::size_t unreachable =
        heap.collectable.objects().size() + heap.frozen.objects().size();
    for (const auto collected : {model::Collected::not_yet, model::Collected::never}) {
        search.collected = collected;
        const auto& found = collected == model::Collected::never ? heap.frozen : heap.collectable;
        if (const auto captured = read(found, watch, least_depth, nullptr, search)) {
            const bool has_graphs =
                reads_graphs && collected == model::Collected::not_yet && has_graph(*captured);
            if (has_graphs) {
                LiveOwners owners;
                owners.find(stages_.registry, heap);
                add_saved(*captured, owners, *watch);
            }
            finish(*captured, search);
            if (captured->ran_user_code || has_graphs) {
                find_unreachable(scope, heap);  // other code may have freed the frozen objects
            }
        }
    }
    if (live != nullptr) {
        live->find(stages_.registry, heap);
    } else if (scope.generation == 2 && scope.frozen) {
        scan_arrays(watch, least_depth, search, finish);
    }
    search.unreachable = unreachable;
    end(search, watch);
}

void HeapSearches::add_saved(CapturedCollection& captured,
                             const LiveOwners& live,
                             const Watch& watch) {
    const bool usable = device::accelerator_usable();
    const DeviceFilter watched = [&](std::string_view device) {
        return watch.wants(device, usable);
    };
    const KnownStorages known = [&](const device::OwnerReading& reading) {
        return watch.reported().contains(reading.device, reading.storage);
    };
    std::unordered_set<const PyObject*> counted;  // with their views
    for (const PendingOwner& owner : captured.owners) {
        for (const device::UnsharedObject& unshared : owner.reading.unshared) {
            counted.insert(unshared.object);
        }
    }
    std::vector<device::DetectedOwner> objects;
    for (PyObject* const object : live.saved_by_dead(captured.objects)) {
        device::OwnerReader* const reader = stages_.registry.reader_for(Py_TYPE(object));
        if (reader != nullptr && !counted.contains(object)) {
            objects.push_back({object, reader});
        }
    }
    CapturedCollection saved;
    OwnerReadings readings(saved, watched, &known, nullptr, true);
    readings.read(objects);
    const StorageIndexes indexes = storage_indexes(captured);
    std::vector<std::size_t> owner_of;
    for (PendingOwner& owner : saved.owners) {
        PyObject* const object = readings.objects()[owner.object];
        owner_of.push_back(storage_of(live.saved_for(object), indexes));
        if (captured.objects.contains(object)) {
            // `captured` contains its own reference, minus those that are explained now.
            owner.reading.known_references =
                stages_.registry.reader_for(Py_TYPE(object))->library_holders(object);
        }
    }
    check_references(captured, saved, indexes, owner_of);
}

// The index of the storage that `object` owns; 0 if it is unknown.
std::size_t HeapSearches::storage_of(PyObject* object, const StorageIndexes& indexes) {
    device::OwnerReading reading;
    device::OwnerReader* const reader = stages_.registry.native_reader_for(Py_TYPE(object));
    if (reader == nullptr || reader->read(object, reading) != device::ReadOutcome::owns) {
        return 0;
    }
    const auto found = indexes.find({reading.device, reading.storage});
    return found == indexes.end() ? 0 : found->second;
}

void HeapSearches::scan_arrays(const std::shared_ptr<Watch>& watch,
                               Depth least_depth,
                               Search& search,
                               const Finish& finish) {
    note_array_failure(*watch);
    collector::HiddenReferences hidden;
    {
        collector::TrackedObjects objects;
        fill(objects);
        collector::add_array_references(objects.objects(), hidden);
    }
    if (hidden.empty()) {
        return;
    }
    collector::HeapScan unreachable;
    collector::UnreachableSet found;
    if (!collector::find_never_freed(hidden, unreachable, found)) {
        throw std::bad_alloc();
    }
    search.collected = model::Collected::uncollectable;
    if (const auto captured = read(found, watch, least_depth, nullptr, search)) {
        finish(*captured, search);
    }
}

std::unique_ptr<CapturedCollection> HeapSearches::read(const collector::UnreachableSet& unreachable,
                                                       const std::shared_ptr<Watch>& watch,
                                                       Depth least_depth,
                                                       SuspectedStorages* suspects,
                                                       Search& search) {
    search.unreachable = unreachable.objects().size();
    GarbageReading reading =
        stages_.reader.read(unreachable, search, {watch}, least_depth, suspects);
    search.depth = reading.depth;
    if (reading.captured != nullptr) {
        check_references(*reading.captured);
    }
    return std::move(reading.captured);
}

void HeapSearches::report(CapturedCollection& captured,
                          const std::shared_ptr<Watch>& watch,
                          Search& search) {
    const Clock::time_point now = Clock::now();
    search.own = now - search.started;
    stages_.reporter.report(captured, stages_.clock.record(search, now), search, {watch});
    remember(captured, search.collected, *watch);
}

DeadBytes HeapSearches::scan(const std::shared_ptr<Watch>& watch,
                             collector::HeapScope scope,
                             bool reads_graphs) {
    DeadBytes dead;
    scan_each(
        watch, scope, Depth::full, reads_graphs, [&](CapturedCollection& captured, Search& search) {
            report(captured, watch, search);
            if (search.collected != model::Collected::uncollectable) {
                (search.collected == model::Collected::never ? dead.frozen : dead.collectable) =
                    captured.observation.record.released_bytes;
            }
        });
    return dead;
}

LiveOwners HeapSearches::scan_for_live_owners(const std::shared_ptr<Watch>& watch,
                                              const std::shared_ptr<Watch>& never_freed,
                                              const device::TorchLayout* layout) {
    LiveOwners live;
    if (layout != nullptr && !find_never_freed(never_freed, *layout, 0)) {
        live.find(stages_.registry, {});
        return live;
    }
    scan_each(
        watch,
        {.generation = 2, .frozen = true},
        Depth::full,
        true,
        [&](CapturedCollection& captured, Search& search) { report(captured, watch, search); },
        &live);
    return live;
}

bool HeapSearches::find_never_freed(const std::shared_ptr<Watch>& watch,
                                    const device::TorchLayout& layout,
                                    int settle,
                                    LiveOwners* live) {
    const python::ErrorStash stash;
    const python::GcPause pause;
    python::YoungCountGuard young_count;
    Search search = begin(2, *watch);
    search.collected = model::Collected::uncollectable;
    note_array_failure(*watch);
    collector::HiddenReferences hidden;
    const std::size_t made = list_hidden_references(layout, hidden);
    log_omissions(hidden, layout, *watch);
    young_count.change(static_cast<int>(made));
    collector::HeapScan unreachable;
    collector::UnreachableSet found;
    if (!collector::find_never_freed(hidden, unreachable, found)) {
        throw std::bad_alloc();
    }
    const bool has_owners = stages_.reader.has_owners(unreachable.collectable);
    suspects_.begin(settle);
    auto captured = read(found, watch, Depth::full, &suspects_, search);
    const bool ran_user_code = captured != nullptr && captured->ran_user_code;
    if (suspects_.end() && !ran_user_code) {
        captured = read(found, watch, Depth::full, &suspects_, search);
    }
    if (captured != nullptr) {
        report(*captured, watch, search);
    } else if (live != nullptr) {
        live->find_held_by_c_code(stages_.registry, unreachable);
    }
    log_suspects(suspects_, settle, *watch);
    log_objects_made(made, *watch);
    end(search, watch);
    return has_owners;
}

// Returns the number of objects that the libraries created.
std::size_t HeapSearches::list_hidden_references(const device::TorchLayout& layout,
                                                 collector::HiddenReferences& hidden) {
    collector::TrackedObjects objects;
    fill(objects);
    stages_.registry.add_hidden_references(objects.objects(), layout, hidden);
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

std::map<std::string, std::uint64_t> HeapSearches::dead_bytes(const std::shared_ptr<Watch>& watch,
                                                              collector::HeapScope scope,
                                                              bool with_unexplained) {
    std::map<std::string, std::uint64_t> bytes;
    scan_each(watch,
              scope,
              Depth::owners_only,
              true,
              [&](CapturedCollection& captured, const Search& search) {
                  for (const model::Storage& storage : captured.observation.storages) {
                      if (storage.released || with_unexplained) {
                          bytes[storage.device] += storage.bytes;
                      }
                  }
                  for (const SavedStorage& each : captured.saved) {
                      bytes[each.reading.device] += each.reading.bytes;
                  }
                  remember(captured, search.collected, *watch);
              });
    return bytes;
}

}  // namespace cyclewatch::watch
