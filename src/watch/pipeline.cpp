// SPDX-License-Identifier: Apache-2.0
#include "watch/pipeline.h"

#include <unordered_map>
#include <utility>

#include "capture/object_summary.h"

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
    return !weakref || PyWeakref_GET_OBJECT(weakref.get()) == Py_None;
}

// Gives equal storages one index: views of one block are one storage.
class StorageTable {
  public:
    explicit StorageTable(std::vector<model::Storage>& storages) : storages_(storages) {}

    std::size_t index_of(const device::OwnerReading& reading) {
        std::string key = reading.device + '/' + std::to_string(reading.storage);
        const auto [entry, fresh] = known_.try_emplace(std::move(key), storages_.size());
        if (fresh) {
            storages_.push_back({reading.device, reading.bytes, true});
        }
        return entry->second;
    }

  private:
    std::vector<model::Storage>& storages_;
    std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace

void Pipeline::read_owners(const device::Detection& detection,
                           const Wanted& wanted,
                           Catch& caught,
                           std::vector<PyObject*>& objects) {
    StorageTable storages(caught.storages);
    for (const device::DetectedOwner& owner : detection.owners) {
        PendingOwner pending;
        const device::ReadOutcome outcome = owner.reader->read(owner.object, pending.reading);
        caught.objects_made += pending.reading.left_object ? 1 : 0;
        caught.failed_readings += outcome == device::ReadOutcome::failed ? 1 : 0;
        if (outcome != device::ReadOutcome::owns || !wanted(pending.reading.device)) {
            continue;
        }
        pending.type = capture::type_name(Py_TYPE(owner.object));
        pending.weakref = weakref_to(owner.object);
        caught.objects_left += pending.reading.left_object ? 1 : 0;
        pending.storage = storages.index_of(pending.reading);
        caught.owners.push_back(std::move(pending));
        objects.push_back(owner.object);
    }
}

std::unique_ptr<Catch> Pipeline::inspect(const collector::CondemnedSet& condemned,
                                         const Wanted& wanted,
                                         Depth depth,
                                         bool values) {
    device::Detection detection;
    detector_.detect(condemned, registry_, detection);
    if (detection.owners.empty()) {
        return nullptr;
    }
    auto caught = std::make_unique<Catch>();
    std::vector<PyObject*> objects;
    read_owners(detection, wanted, *caught, objects);
    if (depth != Depth::owners_only && !objects.empty()) {
        capture::CaptureLimits limits;
        limits.values = values;
        if (depth == Depth::lean) {
            limits.max_objects = kLeanObjects;
        }
        caught->captured =
            capture::capture_graph(condemned.objects(), detection.dependents, objects, limits);
        for (std::size_t i = 0; i < objects.size(); ++i) {
            caught->owners[i].place = caught->captured.owners[i];
        }
    }
    return caught;
}

void Pipeline::settle(Catch& caught) noexcept {
    for (model::Storage& storage : caught.storages) {
        storage.released = true;
    }
    for (PendingOwner& owner : caught.owners) {
        owner.died = is_dead(owner.weakref);
        owner.weakref.reset();
        const bool released =
            owner.died && (!owner.reading.witness || owner.reading.witness->released());
        owner.reading.witness.reset();
        if (!released) {
            caught.storages[owner.storage].released = false;
        } else if (owner.reading.left_object) {
            --caught.objects_left;
        }
    }
}

model::Observation observation_of(Catch& caught, const Pipeline::Wanted& wanted) {
    model::Observation observation;
    observation.storages = caught.storages;
    observation.repeats = caught.captured.repeats;
    observation.omitted_nodes = caught.captured.omitted_objects;
    std::vector<bool> counted(caught.storages.size(), false);
    for (const PendingOwner& owner : caught.owners) {
        const model::Storage& storage = caught.storages[owner.storage];
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
                                          owner.reading.dtype});
        } else if (owner.place.kind == capture::OwnerPlace::Kind::repeated) {
            model::RepeatedShape& repeat = observation.repeats[owner.place.repeat];
            repeat.bytes += bytes;
            ++repeat.owners;
        }
    }
    observation.graph = std::move(caught.captured.graph);
    return observation;
}

}  // namespace cyclewatch::watch
