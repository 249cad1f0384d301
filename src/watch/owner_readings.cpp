// SPDX-License-Identifier: Apache-2.0
#include "watch/owner_readings.h"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/object_summary.h"
#include "watch/memory_ranges.h"

namespace cyclewatch::watch {
namespace {

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

}  // namespace

OwnerReadings::OwnerReadings(CapturedCollection& collection,
                             const DeviceFilter& watched,
                             const KnownStorages* known,
                             device::ClaimCheck* claims,
                             bool explained)
    : collection_(collection),
      watched_(watched),
      known_(known),
      claims_(claims),
      explained_(explained) {}

void OwnerReadings::read(const std::vector<device::DetectedOwner>& owners) {
    collection_.owners.reserve(owners.size());
    collection_.observation.storages.reserve(owners.size());
    links_.reserve(owners.size());
    first_storages_.assign(std::bit_ceil(owners.size()), kNone);
    for (const device::DetectedOwner& owner : owners) {
        if (owner.reader->runs_user_code()) {
            user_owners_.push_back({python::borrow(owner.object), owner.reader});
        } else if (add(owner.object, *owner.reader, objects_.size())) {
            objects_.push_back(owner.object);
        }
    }
    unify_sizes();
    count_overlaps_once();
    for (const UserOwner& owner : user_owners_) {
        objects_.push_back(owner.object.get());
    }
    if (known_ != nullptr) {
        count_unshared();
    }
}

// Storages that start at the same address count as one, whose size is that of the largest.
void OwnerReadings::unify_sizes() {
    std::vector<model::Storage>& storages = collection_.observation.storages;
    for (const PendingOwner& owner : collection_.owners) {
        std::uint64_t& bytes = storages[owner.storage].bytes;
        bytes = std::max(bytes, owner.reading.bytes);
    }
    for (PendingOwner& owner : collection_.owners) {
        owner.reading.bytes = storages[owner.storage].bytes;
    }
}

void OwnerReadings::count_overlaps_once() {
    std::vector<model::Storage>& storages = collection_.observation.storages;
    std::vector<MemoryRange> ranges(storages.size());
    for (const PendingOwner& owner : collection_.owners) {
        MemoryRange& range = ranges[owner.storage];
        range.device = &storages[owner.storage].device;
        range.start = owner.reading.storage;
        range.bytes = owner.reading.has_address ? owner.reading.bytes : 0;
        range.storage = owner.storage;
        range.has_tensor = range.has_tensor || !owner.reading.shape.empty();
    }
    const std::vector<std::size_t> changed = count_once(ranges);
    std::vector<bool> is_changed(storages.size());
    for (const std::size_t storage : changed) {
        is_changed[storage] = true;
    }
    for (PendingOwner& owner : collection_.owners) {
        if (!changed.empty() && is_changed[owner.storage]) {
            owner.reading.bytes = ranges[owner.storage].bytes;
            owner.reading.is_covered = owner.reading.bytes == 0;
            storages[owner.storage].bytes = owner.reading.bytes;
        }
    }
}

// Counts each object in `unshared` only once, even if the readings of several owners list it.
void OwnerReadings::count_unshared() {
    std::unordered_set<const PyObject*> dead(objects_.begin(), objects_.end());
    for (PendingOwner& owner : collection_.owners) {
        for (const device::UnsharedObject& unshared : owner.reading.unshared) {
            if (dead.insert(unshared.object).second) {
                owner.reading.known_references += unshared.known_references;
            }
        }
    }
    for (PendingOwner& owner : collection_.owners) {
        owner.reading.known_references += dead.contains(owner.reading.base) ? 1 : 0;
    }
}

void OwnerReadings::read_with_user_code() {
    std::size_t position = objects_.size() - user_owners_.size();
    collection_.ran_user_code = !user_owners_.empty();
    for (const UserOwner& owner : user_owners_) {
        named_type_ = nullptr;  // user code may have freed it
        add(owner.object.get(), *owner.reader, position++);
    }
}

// Returns false if the object does not own watched memory.
bool OwnerReadings::add(PyObject* object, device::OwnerReader& reader, std::size_t position) {
    const std::size_t parent = collection_.owners.size();
    PendingOwner& owner = collection_.owners.emplace_back();  // read in place: it is large
    device::OwnerReading& reading = owner.reading;
    const device::ReadOutcome outcome = reader.read(object, reading);
    collection_.failed_readings += outcome == device::ReadOutcome::failed ? 1 : 0;
    collection_.objects_made += reading.left_objects;
    if (outcome != device::ReadOutcome::owns || !is_watched(reading.device) ||
        (known_ != nullptr && (*known_)(reading)) || is_contradicted(object, reader, reading)) {
        collection_.owners.pop_back();
        return false;
    }
    if (known_ != nullptr) {
        count_references(object, reader, explained_, reading);
    }
    if (!reading.goes_with_storage && (known_ == nullptr || !reading.weak_storage)) {
        owner.weakref = weakref_to(object);
    }
    owner.type = type_name_of(object);
    if (!reading.note.empty()) {
        owner.type += " (" + reading.note + ")";
    }
    complete(owner, position);
    if (!reading.parts.empty()) {
        add_parts(object, parent, position);
    }
    return true;
}

void OwnerReadings::count_references(PyObject* object,
                                     device::OwnerReader& reader,
                                     bool explained,
                                     device::OwnerReading& reading) {
    if (!explained) {
        reader.count_references(object, reading);
        return;
    }
    // The gradient and the base are owners of their own.
    std::erase_if(reading.parts, [](const auto& part) { return part.part.starts_with(".grad"); });
    reader.count_references(object, reading);
    reading.known_references += std::max<Py_ssize_t>(reader.library_holders(object), 0);
    reading.base = nullptr;
}

bool OwnerReadings::is_watched(const std::string& device) {
    if (device != watched_device_) {
        if (!watched_(device)) {
            return false;
        }
        watched_device_ = device;
    }
    return true;
}

bool OwnerReadings::is_contradicted(PyObject* object,
                                    const device::OwnerReader& reader,
                                    const device::OwnerReading& reading) {
    if (claims_ == nullptr || !reader.reads_claims() ||
        !claims_->contradicts(Py_TYPE(object), reading)) {
        return false;
    }
    auto& contradiction = collection_.contradictions[type_name_of(object)];
    if (++contradiction.owners == 1) {
        contradiction.description = claims_->description();
    }
    return true;
}

void OwnerReadings::add_parts(PyObject* object, std::size_t parent, std::size_t position) {
    std::vector<device::OwnerReading> parts = std::move(collection_.owners[parent].reading.parts);
    const std::string shard = collection_.owners[parent].type;
    const std::string whole = type_name_of(object);
    for (device::OwnerReading& part : parts) {
        collection_.objects_made += part.left_objects;
        PendingOwner& pending = collection_.owners.emplace_back();
        pending.type = part.is_shard ? shard : whole + " (" + part.part + ")";
        pending.is_part = true;
        pending.parent = parent;
        pending.reading = std::move(part);
        complete(pending, position);
    }
}

void OwnerReadings::complete(PendingOwner& owner, std::size_t position) {
    owner.object = position;
    owner.storage = storage_index(owner.reading);
    collection_.objects_left += owner.reading.left_objects;
}

const std::string& OwnerReadings::type_name_of(PyObject* owner) {
    if (Py_TYPE(owner) != named_type_) {
        type_name_ = capture::type_name(Py_TYPE(owner));
        named_type_ = Py_TYPE(owner);
    }
    return type_name_;
}

// Views of one block of memory share one storage. The identity of a storage is unique only within a
// device.
std::size_t OwnerReadings::storage_index(const device::OwnerReading& reading) {
    std::vector<model::Storage>& storages = collection_.observation.storages;
    const std::uint64_t hash = (reading.storage * 0x9e3779b97f4a7c15ULL) >> 32;
    std::uint32_t& first = first_storages_[hash & (first_storages_.size() - 1)];
    for (std::uint32_t known = first; known != kNone; known = links_[known].next) {
        if (links_[known].identity == reading.storage && storages[known].device == reading.device) {
            return known;
        }
    }
    const auto added = static_cast<std::uint32_t>(storages.size());
    storages.push_back({reading.device, reading.bytes, true});
    links_.push_back({reading.storage, std::exchange(first, added)});
    return added;
}

}  // namespace cyclewatch::watch
