// SPDX-License-Identifier: Apache-2.0
#include "watch/pipeline.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "capture/object_summary.h"
#include "compat/gc_list.h"
#include "compat/weak_reference.h"
#include "device/memory_sampler.h"
#include "python/stop_the_world.h"

namespace cyclewatch::watch {
namespace {

constexpr std::uint64_t kLeanObjects = 2'000;

// A plain weakref without callback: dead after the collection means the owner really went.
python::OwnedRef weakref_to(PyObject* object) noexcept {
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) == 0) {
        return {};
    }
    python::OwnedRef weakref = python::steal(PyWeakref_NewRef(object, nullptr));
    if (!weakref) {
        PyErr_Clear();
    }
    return weakref;
}

bool is_dead(const python::OwnedRef& weakref) noexcept {
    return !weakref ||
           (cyclewatch_weakref_is_dead(weakref.get()) != 0 && cw_keeps_what_it_gave_up() == 0);
}

// Gives equal storages one index: views of one block are one storage.
class StorageTable {
  public:
    explicit StorageTable(std::vector<model::Storage>& storages) : storages_(storages) {}

    std::size_t index_of(const device::OwnerReading& reading) {
        // An identity is one storage on each device, and devices are few.
        const auto [begin, end] = known_.equal_range(reading.storage);
        for (auto known = begin; known != end; ++known) {
            if (storages_[known->second].device == reading.device) {
                return known->second;
            }
        }
        storages_.push_back({reading.device, reading.bytes, true});
        return known_.emplace(reading.storage, storages_.size() - 1)->second;
    }

  private:
    std::vector<model::Storage>& storages_;
    std::unordered_multimap<std::uint64_t, std::size_t> known_;  // by identity
};

// Reads owners one after the other into a CapturedCollection.
class OwnerReadings {
  public:
    OwnerReadings(CapturedCollection& collection, const Pipeline::Wanted& wanted)
        : collection_(collection), wanted_(wanted), storages_(collection.storages) {}

    // Reads the object that stands at `position` among those of the catch. False if neither it nor
    // a part of it owns anything that is wanted.
    bool add(PyObject* object, device::OwnerReader& reader, std::size_t position) {
        device::OwnerReading reading;
        const device::ReadOutcome outcome = reader.read(object, reading);
        collection_.failed_readings += outcome == device::ReadOutcome::failed ? 1 : 0;
        std::vector<device::OwnerReading> parts = std::move(reading.parts);
        const bool owns = outcome == device::ReadOutcome::owns && wanted_(reading.device);
        collection_.objects_made += reading.left_objects;
        if (!owns) {
            return false;
        }
        const std::size_t whole = collection_.owners.size();
        const std::string type = capture::type_name(Py_TYPE(object));
        PendingOwner& owner = push(type, std::move(reading), position);
        if (!owner.reading.goes_with_storage) {
            owner.weakref = weakref_to(object);
        }
        for (device::OwnerReading& part : parts) {
            collection_.objects_made += part.left_objects;
            const std::string part_type = type + " (" + part.part + ")";
            PendingOwner& pending = push(part_type, std::move(part), position);
            pending.is_part = true;
            pending.whole = whole;
        }
        return true;
    }

  private:
    PendingOwner& push(const std::string& type,
                       device::OwnerReading reading,
                       std::size_t position) {
        PendingOwner pending;
        pending.type = type;
        pending.object = position;
        pending.storage = storages_.index_of(reading);
        collection_.objects_left += reading.left_objects;
        pending.reading = std::move(reading);
        return collection_.owners.emplace_back(std::move(pending));
    }

    CapturedCollection& collection_;
    const Pipeline::Wanted& wanted_;
    StorageTable storages_;
};

// An owner whose reader is the user's own code. Held, because such a reader may drop references
// of dying objects, or let another thread do it.
struct UserReadOwner {
    python::OwnedRef object;
    device::OwnerReader* reader = nullptr;
};

}  // namespace

std::unique_ptr<CapturedCollection> Pipeline::inspect(const collector::UnreachableSet& unreachable,
                                                      const Wanted& wanted,
                                                      Depth depth,
                                                      bool values) {
    device::Detection detection;
    // Threads that still run count references, and change types and code, that we look at too.
    python::with_world_stopped([&] { detector_.detect(unreachable, registry_, detection); });
    PyErr_Clear();  // of a type whose tp_traverse raises: readers must not meet it
    if (detection.owners.empty()) {
        return nullptr;
    }
    auto collection = std::make_unique<CapturedCollection>();
    OwnerReadings readings(*collection, wanted);
    std::vector<PyObject*> objects;
    std::vector<UserReadOwner> user_read;
    for (const device::DetectedOwner& owner : detection.owners) {
        if (owner.reader->runs_user_code()) {
            user_read.push_back({python::borrow(owner.object), owner.reader});
        } else if (readings.add(owner.object, *owner.reader, objects.size())) {
            objects.push_back(owner.object);
        }
    }
    for (const UserReadOwner& owner : user_read) {
        objects.push_back(owner.object.get());
    }
    if (depth != Depth::owners_only && !objects.empty()) {
        capture::CaptureLimits limits;
        limits.values = values;
        if (depth == Depth::lean) {
            limits.max_objects = kLeanObjects;
        }
        python::with_world_stopped([&] {
            collection->captured = capture::capture_graph(
                unreachable.objects(), detection.dependents, objects, limits);
        });
        PyErr_Clear();
    }
    // The user's code last: from here on nothing borrowed is looked at.
    detection.held.clear();
    std::size_t position = objects.size() - user_read.size();
    for (const UserReadOwner& owner : user_read) {
        readings.add(owner.object.get(), *owner.reader, position++);
    }
    if (const auto& places = collection->captured.owners; !places.empty()) {
        for (PendingOwner& owner : collection->owners) {
            owner.place = places[owner.object];
        }
    }
    if (depth == Depth::full) {
        collection->memory = sampler_.before(collection->storages);
    }
    collection->unreachable_at = device::WallTime::now();
    return collection;
}

void Pipeline::read_after_sweep(CapturedCollection& collection) noexcept {
    for (model::Storage& storage : collection.storages) {
        storage.released = true;
    }
    for (PendingOwner& owner : collection.owners) {
        owner.storage_went = !owner.reading.weak_storage || owner.reading.weak_storage->released();
        owner.reading.weak_storage.reset();
    }
    python::with_world_stopped([&collection] {
        for (PendingOwner& owner : collection.owners) {
            if (owner.is_part) {
                owner.died = collection.owners[owner.whole].died;  // which stands before it
            } else {
                owner.died =
                    owner.reading.goes_with_storage ? owner.storage_went : is_dead(owner.weakref);
            }
        }
    });
    for (PendingOwner& owner : collection.owners) {
        owner.weakref.reset();
        if (!owner.died || !owner.storage_went) {
            collection.storages[owner.storage].released = false;
        } else {
            collection.objects_left -= owner.reading.left_objects;
        }
    }
    sampler_.after(collection.memory);
    collection.swept_at = device::WallTime::now();
}

model::Observation observation_of(CapturedCollection& collection, const Pipeline::Wanted& wanted) {
    model::Observation observation;
    observation.storages = collection.storages;
    observation.repeats = collection.captured.repeats;
    std::ranges::copy_if(collection.memory,
                         std::back_inserter(observation.record.device_memory),
                         [&wanted](const auto& sample) { return wanted(sample.device); });
    observation.omitted_nodes = collection.captured.omitted_objects;
    observation.omitted_references = collection.captured.omitted_references;
    std::vector<bool> counted(collection.storages.size(), false);
    for (const PendingOwner& owner : collection.owners) {
        const model::Storage& storage = collection.storages[owner.storage];
        if (!owner.died || !wanted(storage.device)) {
            continue;
        }
        ++observation.record.owners;
        const std::uint64_t bytes = storage.released && !counted[owner.storage] ? storage.bytes : 0;
        counted[owner.storage] = true;
        observation.record.released_bytes += bytes;
        if (owner.place.kind == capture::OwnerPlace::Kind::node) {
            observation.owners.push_back({owner.place.node,
                                          static_cast<model::StorageId>(owner.storage),
                                          owner.type,
                                          owner.reading.shape,
                                          owner.reading.dtype,
                                          owner.is_part});
        } else if (owner.place.kind == capture::OwnerPlace::Kind::repeated) {
            model::RepeatedShape& repeat = observation.repeats[owner.place.repeat];
            repeat.bytes += bytes;
            ++repeat.owners;
        }
    }
    for (model::RepeatedShape& repeat : observation.repeats) {
        repeat.count = repeat.owners > 0 ? repeat.count : 0;
    }
    observation.graph = std::move(collection.captured.graph);
    return observation;
}

}  // namespace cyclewatch::watch
