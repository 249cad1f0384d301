// SPDX-License-Identifier: Apache-2.0
#include "watch/captured_collection.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/source_path.h"
#include "capture/object_summary.h"
#include "compat/gc_list.h"
#include "compat/object_layout.h"
#include "python/stop_the_world.h"

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
    for (const UserOwner& owner : user_owners_) {
        objects_.push_back(owner.object.get());
    }
    if (known_ != nullptr) {
        count_unshared();
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
    complete(owner, position);
    if (!reading.parts.empty()) {
        add_parts(parent, position);
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

void OwnerReadings::add_parts(std::size_t parent, std::size_t position) {
    std::vector<device::OwnerReading> parts = std::move(collection_.owners[parent].reading.parts);
    for (device::OwnerReading& part : parts) {
        collection_.objects_made += part.left_objects;
        PendingOwner& pending = collection_.owners.emplace_back();
        pending.type = collection_.owners[parent].type + " (" + part.part + ")";
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

void check_references(CapturedCollection& collection) {
    std::vector<model::Storage>& storages = collection.observation.storages;
    std::vector<std::int64_t> unaccounted(storages.size(), 0);
    for (const PendingOwner& owner : collection.owners) {
        unaccounted[owner.storage] -= owner.reading.known_references;
    }
    for (const PendingOwner& owner : collection.owners) {
        const auto references = static_cast<std::int64_t>(owner.reading.storage_references);
        if (references > 0 && references + unaccounted[owner.storage] > 0) {
            storages[owner.storage].released = false;
        }
    }
    for (PendingOwner& owner : collection.owners) {
        owner.freed = storages[owner.storage].released;
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
