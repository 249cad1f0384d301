// SPDX-License-Identifier: Apache-2.0
#include "watch/captured_collection.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/source_path.h"
#include "capture/object_summary.h"
#include "compat/gc_list.h"
#include "compat/object_layout.h"
#include "python/stop_the_world.h"

namespace cyclewatch::watch {
namespace {

bool is_dead(const python::OwnedRef& weakref) noexcept {
    return !weakref ||
           (cyclewatch_weakref_is_dead(weakref.get()) != 0 && cw_keeps_what_it_gave_up() == 0);
}

}  // namespace

void CapturedCollection::take(capture::CapturedGraph captured) {
    observation.graph = std::move(captured.graph);
    observation.omitted_nodes = captured.omitted_objects;
    observation.omitted_references = captured.omitted_references;
    places = std::move(captured.owners);
    repeats = std::move(captured.repeats);
}

std::int64_t wall_time() noexcept {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

void read_allocation_stacks(CapturedCollection& collection, std::span<PyObject* const> objects) {
    constexpr std::size_t kMostStacks = 1'000;  // in one collection
    std::size_t left = kMostStacks;
    for (std::size_t i = 0; i < objects.size() && left > 0; ++i) {
        if (collection.places[i].kind != capture::OwnerPlace::Kind::node) {
            continue;
        }
        --left;
        const std::vector<base::CallSite> stack = capture::allocation_stack(objects[i]);
        if (stack.size() > 1) {
            collection.allocation_stacks.resize(objects.size());
            std::ranges::transform(
                stack, std::back_inserter(collection.allocation_stacks[i]), &base::text_of);
        }
    }
}

void check_freed(CapturedCollection& collection) noexcept {
    for (PendingOwner& owner : collection.owners) {
        owner.storage_freed = !owner.reading.weak_storage || owner.reading.weak_storage->released();
    }
    python::with_world_stopped([&collection] {
        for (PendingOwner& owner : collection.owners) {
            if (owner.is_part) {
                owner.freed = collection.owners[owner.parent].freed;
            } else {
                owner.freed =
                    owner.reading.goes_with_storage ? owner.storage_freed : is_dead(owner.weakref);
            }
        }
    });
    for (PendingOwner& owner : collection.owners) {
        if (owner.freed) {
            owner.weakref.reset();
            owner.reading.weak_storage.reset();
        }
        if (owner.freed && owner.storage_freed) {
            collection.objects_left -= owner.reading.left_objects;
        } else {
            collection.observation.storages[owner.storage].released = false;
        }
    }
}

namespace {

// True if a weak reference can tell whether the owner is still alive.
bool has_weak_reference(const PendingOwner& owner) noexcept {
    return owner.weakref || (owner.reading.goes_with_storage && owner.reading.weak_storage);
}

}  // namespace

bool mark_resurrected(CapturedCollection& collection) noexcept {
    bool any = false;
    for (PendingOwner& owner : collection.owners) {
        owner.is_resurrected = owner.is_part ? collection.owners[owner.parent].is_resurrected
                                             : !owner.freed && has_weak_reference(owner);
        any = any || owner.is_resurrected;
    }
    return any && cw_keeps_what_it_gave_up() == 0;
}

bool freed_resurrected(CapturedCollection& collection) noexcept {
    bool freed = true;
    python::with_world_stopped([&] {
        freed = std::ranges::all_of(collection.owners, [](const PendingOwner& owner) {
            return !owner.is_resurrected || owner.is_part || !owner.weakref ||
                   is_dead(owner.weakref);
        });
    });
    freed = freed && std::ranges::all_of(collection.owners, [](const PendingOwner& owner) {
                return !owner.is_resurrected || !owner.reading.goes_with_storage ||
                       owner.reading.weak_storage->released();
            });
    if (!freed) {
        return false;
    }
    std::vector<model::Storage>& storages = collection.observation.storages;
    for (PendingOwner& owner : collection.owners) {
        if (owner.reading.weak_storage) {
            owner.storage_freed = owner.reading.weak_storage->released();
        }
        owner.freed = owner.is_resurrected;
        if (owner.freed) {
            storages[owner.storage].released = true;
        }
    }
    for (PendingOwner& owner : collection.owners) {
        if (!owner.storage_freed) {
            storages[owner.storage].released = false;
        }
        owner.weakref.reset();
        owner.reading.weak_storage.reset();
    }
    return true;
}

namespace {

// For each storage, the number of references that its owners account for.
std::vector<std::int64_t> known_references(const CapturedCollection& collection) {
    std::vector<std::int64_t> known(collection.observation.storages.size(), 0);
    for (const PendingOwner& owner : collection.owners) {
        known[owner.storage] += owner.reading.known_references;
    }
    return known;
}

// Marks the storages that have more references than `known`, and their owners.
void mark_kept(CapturedCollection& collection, const std::vector<std::int64_t>& known) {
    std::vector<model::Storage>& storages = collection.observation.storages;
    for (model::Storage& storage : storages) {
        storage.released = true;
    }
    for (const PendingOwner& owner : collection.owners) {
        const auto references = static_cast<std::int64_t>(owner.reading.storage_references);
        if (references > 0 && references > known[owner.storage]) {
            storages[owner.storage].released = false;
        }
    }
    for (PendingOwner& owner : collection.owners) {
        owner.freed = storages[owner.storage].released;
    }
}

}  // namespace

void check_references(CapturedCollection& collection) {
    mark_kept(collection, known_references(collection));
}

StorageIndexes storage_indexes(const CapturedCollection& collection) {
    StorageIndexes indexes;
    for (const PendingOwner& owner : collection.owners) {
        indexes.emplace(std::pair(owner.reading.device, owner.reading.storage), owner.storage);
    }
    return indexes;
}

void check_references(CapturedCollection& collection,
                      CapturedCollection& saved,
                      const StorageIndexes& indexes,
                      const std::vector<std::size_t>& owner_of) {
    std::vector<std::int64_t> known = known_references(collection);
    std::vector<bool> is_taken(saved.observation.storages.size());
    for (const PendingOwner& owner : saved.owners) {
        const auto shared = indexes.find({owner.reading.device, owner.reading.storage});
        if (shared != indexes.end()) {
            known[shared->second] += owner.reading.known_references;
            is_taken[owner.storage] = true;
        }
    }
    mark_kept(collection, known);
    check_references(saved);
    for (std::size_t i = 0; i < saved.owners.size(); ++i) {
        PendingOwner& owner = saved.owners[i];
        if (owner.freed && !is_taken[owner.storage]) {
            is_taken[owner.storage] = true;
            collection.saved.push_back({std::move(owner.reading), owner_of[i]});
        }
    }
}

std::vector<std::vector<std::string>> signatures_by_storage(
    const CapturedCollection& collection, const std::vector<model::Finding>& findings) {
    std::vector<std::vector<std::string>> result(collection.observation.storages.size());
    std::vector<std::string> all;
    for (const model::Finding& finding : findings) {
        all.push_back(finding.signature);
        for (const model::OwnerSummary& owner : finding.owners) {
            for (const model::StorageShare& share : owner.storages) {
                std::vector<std::string>& signatures = result[model::index_of(share.storage)];
                if (signatures.empty() || signatures.back() != finding.signature) {
                    signatures.push_back(finding.signature);
                }
            }
        }
    }
    // Only one of several equal clusters is captured. Its findings include the storages of the
    // other clusters.
    std::unordered_map<model::NodeId, std::size_t> storage_of_node;
    for (const model::DeviceOwner& owner : collection.observation.owners) {
        storage_of_node.emplace(owner.node, model::index_of(owner.storage));
    }
    for (const PendingOwner& owner : collection.owners) {
        std::vector<std::string>& signatures = result[owner.storage];
        if (!signatures.empty() || collection.places.empty()) {
            continue;
        }
        const capture::OwnerPlace& place = collection.places[owner.object];
        if (place.kind == capture::OwnerPlace::Kind::repeated) {
            const auto twin = storage_of_node.find(collection.repeats[place.repeat].twin);
            signatures = twin != storage_of_node.end() ? result[twin->second] : all;
        }
    }
    for (std::vector<std::string>& signatures : result) {
        if (signatures.empty()) {
            signatures = all;
        }
    }
    return result;
}

namespace {

constexpr std::uint64_t kMebibyte = 1U << 20U;
constexpr std::uint64_t kLeastUnowned = kMebibyte;

// The most that torch's allocator adds to the size of a freed block.
constexpr std::uint64_t rounding_of(std::uint64_t bytes) {
    constexpr std::uint64_t kSmallStep = 512;
    return bytes == 0 ? 0 : bytes < kMebibyte ? kSmallStep : kMebibyte;
}

// `counted`: whether an owner of the storage was freed, for each of `storages`.
void measure_unowned_bytes(model::DeviceMemory& sample,
                           const std::vector<model::Storage>& storages,
                           const std::vector<bool>& counted) {
    if (sample.source != model::MemorySource::torch) {
        return;
    }
    std::uint64_t known = sample.used_after;
    for (std::size_t i = 0; i < storages.size(); ++i) {
        if (counted[i] && storages[i].released && storages[i].device == sample.device) {
            known += storages[i].bytes + rounding_of(storages[i].bytes);
        }
    }
    if (sample.used_before >= known + kLeastUnowned) {
        sample.unowned_bytes = sample.used_before - known;
    }
}

}  // namespace

const model::Observation& select_owners(CapturedCollection& collection,
                                        const DeviceFilter& watched,
                                        const Watch& watch,
                                        const model::CollectionRecord& record,
                                        Clock::time_point started) {
    model::Observation& observation = collection.observation;
    observation.record = record;
    observation.record.started_at = watch.seconds_since_start(started);
    if (record.note != model::kFreedLater) {
        observation.record.step = watch.step();
    }
    std::ranges::copy_if(collection.memory,
                         std::back_inserter(observation.record.device_memory),
                         [&watched](const auto& sample) { return watched(sample.device); });
    observation.owners.clear();
    observation.repeats = collection.repeats;
    std::vector<bool> counted(observation.storages.size(), false);
    const std::string* device = nullptr;  // of the previous owner: there are few devices
    bool is_watched = false;
    for (const PendingOwner& owner : collection.owners) {
        const model::Storage& storage = observation.storages[owner.storage];
        if (device == nullptr || storage.device != *device) {
            device = &storage.device;
            is_watched = watched(*device);
        }
        if (!owner.freed || !is_watched ||
            (!record.scan && watch.reported().contains(storage.device, owner.reading.storage))) {
            continue;
        }
        ++observation.record.owners;
        const std::uint64_t bytes = storage.released && !counted[owner.storage] ? storage.bytes : 0;
        counted[owner.storage] = true;
        observation.record.released_bytes += bytes;
        if (collection.places.empty()) {
            continue;
        }
        const capture::OwnerPlace& place = collection.places[owner.object];
        if (place.kind == capture::OwnerPlace::Kind::node) {
            observation.owners.push_back({place.node,
                                          static_cast<model::StorageId>(owner.storage),
                                          owner.type,
                                          owner.reading.shape,
                                          owner.reading.dtype,
                                          owner.is_part,
                                          owner.reading.has_graph,
                                          owner.is_part || collection.allocation_stacks.empty()
                                              ? std::vector<std::string>()
                                              : collection.allocation_stacks[owner.object]});
        } else if (place.kind == capture::OwnerPlace::Kind::repeated) {
            model::RepeatedShape& repeat = observation.repeats[place.repeat];
            repeat.bytes += bytes;
            ++repeat.owners;
        }
    }
    for (model::RepeatedShape& repeat : observation.repeats) {
        repeat.count = repeat.owners > 0 ? repeat.count : 0;
    }
    if (!record.scan) {
        for (model::DeviceMemory& sample : observation.record.device_memory) {
            measure_unowned_bytes(sample, observation.storages, counted);
        }
    }
    return observation;
}

}  // namespace cyclewatch::watch
