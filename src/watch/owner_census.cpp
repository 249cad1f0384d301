// SPDX-License-Identifier: Apache-2.0
#include "watch/owner_census.h"

#include <Python.h>

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/heap_scan.h"
#include "compat/gc_list.h"
#include "compat/generations.h"
#include "device/owner_detector.h"
#include "python/references.h"
#include "watch/captured_collection.h"

namespace cyclewatch::watch {
namespace {

// The owners among the tracked objects. Holds strong references, because reading may run user code.
class LiveOwners {
  public:
    explicit LiveOwners(device::OwnerRegistry& registry) : registry_(registry) {}

    void find() {
        // Scan first: the list of all objects created below keeps them alive.
        collector::HeapScan scan;
        if (!collector::scan_heap({.generation = 2, .frozen = true}, scan)) {
            throw std::bad_alloc();
        }
        const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
        const python::OwnedRef tracked =
            python::steal(gc ? PyObject_CallMethod(gc.get(), "get_objects", nullptr) : nullptr);
        if (!tracked || !PyList_Check(tracked.get())) {
            PyErr_Clear();
            throw std::bad_alloc();
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tracked.get()); ++i) {
            add(PyList_GET_ITEM(tracked.get(), i), scan);
        }
        cw_object_list frozen{};
        if (cw_list_generation(kCwFrozen, &frozen) == CW_WALK_COMPLETE) {
            for (std::size_t i = 0; i < frozen.count; ++i) {
                add(frozen.objects[i], scan);
            }
        }
        cw_free_objects(&frozen);
    }
    [[nodiscard]] const std::vector<device::DetectedOwner>& owners() const { return owners_; }

  private:
    void add(PyObject* object, const collector::HeapScan& scan) {
        device::OwnerReader* const reader = registry_.reader_for(Py_TYPE(object));
        if (reader != nullptr && !scan.collectable.contains(object) &&
            !scan.frozen.contains(object)) {
            held_.push_back(python::borrow(object));
            owners_.push_back({object, reader});
        }
    }

    device::OwnerRegistry& registry_;
    std::vector<python::OwnedRef> held_;
    std::vector<device::DetectedOwner> owners_;
};

// Groups equal owners.
class Groups {
  public:
    void add(PendingOwner& owner) {
        const device::OwnerReading& reading = owner.reading;
        const std::string key = owner.type + '\0' + reading.device + '\0' + reading.shape + '\0' +
                                reading.dtype + '\0' + std::to_string(reading.bytes);
        const auto [known, is_new] = indexes_.emplace(key, groups_.size());
        if (!is_new) {
            ++groups_[known->second].count;
            return;
        }
        model::OwnerSummary& group = groups_.emplace_back();
        group.type = std::move(owner.type);
        group.device = std::move(owner.reading.device);
        group.bytes = owner.reading.bytes;
        group.shape = std::move(owner.reading.shape);
        group.dtype = std::move(owner.reading.dtype);
    }
    [[nodiscard]] std::vector<model::OwnerSummary> take() { return std::move(groups_); }

  private:
    std::unordered_map<std::string, std::size_t> indexes_;
    std::vector<model::OwnerSummary> groups_;
};

}  // namespace

std::vector<model::OwnerSummary> live_owners(device::OwnerRegistry& registry) {
    registry.refresh();
    LiveOwners live(registry);
    live.find();
    CapturedCollection read;
    const DeviceFilter all = [](std::string_view) { return true; };
    OwnerReadings readings(read, all, nullptr);
    readings.read(live.owners());
    readings.read_with_user_code();

    Groups groups;
    std::vector<bool> counted(read.observation.storages.size());
    for (PendingOwner& owner : read.owners) {
        if (!counted[owner.storage]) {
            counted[owner.storage] = true;
            groups.add(owner);
        }
    }
    return groups.take();
}

}  // namespace cyclewatch::watch
