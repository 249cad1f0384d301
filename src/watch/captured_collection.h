// SPDX-License-Identifier: Apache-2.0
// The owners, storages and references of one collection. They are read before the collector frees
// the objects, and completed afterwards.
//
// REQUIRES (everything here): GIL held. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/wide_hash.h"
#include "capture/graph_capture.h"
#include "device/owner_reader.h"
#include "model/observation.h"
#include "python/references.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

// Returns true if the memory of a device ("cuda:0") is watched.
using DeviceFilter = std::function<bool(std::string_view device)>;

// An owner that the collection found unreachable. `freed` and `storage_freed` record whether the
// collection freed the owner and its storage.
struct PendingOwner {
    std::string type;
    device::OwnerReading reading;
    python::OwnedRef weakref;  // dead after the sweep if the owner was freed; null: unsupported
    std::size_t object = 0;    // index into OwnerReadings::objects(); parts share their parent's
    std::size_t parent = 0;    // of a part: index of its parent, which precedes it
    bool is_part = false;      // a further storage that dies with its parent, such as ".grad"
    std::size_t storage = 0;   // index into observation.storages
    bool freed = true;
    bool storage_freed = true;
    bool is_resurrected = false;  // a finalizer stored it, or an object that refers to it
};

// The properties of a collection that determine its findings (watch/known_findings.h).
struct GarbageShape {
    base::WideHash key;
    std::uint64_t copies = 0;            // equal clusters with that key; 0: the shape is unknown
    std::vector<std::uint32_t> copy_of;  // by PendingOwner::object
    // By PendingOwner::storage: equal for corresponding storages of collections with this shape.
    // Empty if no storage is on a CUDA device.
    std::vector<std::uint64_t> storage_keys;
};

// A storage that only the autograd graph of an owner keeps.
struct SavedStorage {
    device::OwnerReading reading;
    std::size_t of = 0;  // index of a storage of the owner
};

struct CapturedCollection {
    std::vector<PendingOwner> owners;
    std::vector<capture::OwnerPlace> places;  // by PendingOwner::object; empty without a graph
    // By PendingOwner::object; as in model::OwnerSummary, empty if unknown.
    std::vector<std::vector<std::string>> allocation_stacks;
    std::vector<model::RepeatedShape> repeats;  // without bytes and owners
    std::vector<model::DeviceMemory> memory;
    bool accelerator_usable = false;  // as in device::accelerator_usable()
    int cuda_error = 0;               // pending before the sweep, as in device::pending_error()
    GarbageShape shape;
    bool is_known = false;            // all watches know the findings: there is no graph
    std::int64_t unreachable_at = 0;  // before the sweep; microseconds since the epoch
    std::int64_t swept_at = 0;        // after the sweep
    std::uint64_t failed_readings = 0;
    // Owners that CUDA contradicts. They are not in `owners`.
    struct Contradiction {
        std::uint64_t owners = 0;
        std::string description;  // ClaimCheck::description() of the first of them
    };
    std::map<std::string, Contradiction> contradictions;  // by type name
    bool ran_user_code = false;                           // in readers that the user registered
    int objects_made = 0;  // objects created by readers; each is freed with its storage
    int objects_left = 0;  // of objects_made: the storage is watched and was not freed
    // All watches share the graph, storages and omissions; select_owners() sets the other fields.
    model::Observation observation;

    // For a scan: the objects of `owners`, which may not exist any more.
    std::unordered_set<const PyObject*> objects;
    std::vector<SavedStorage> saved;  // for a scan
    // For a scan: for each storage, the signatures of the findings that report the storage.
    std::vector<std::vector<std::string>> signatures;

    void take(capture::CapturedGraph captured);
};

// The time of torch's memory history, in microseconds since the epoch.
[[nodiscard]] std::int64_t wall_time() noexcept;

// Sets `allocation_stacks`, if tracemalloc is tracing. `objects`: as OwnerReadings::objects().
// REQUIRES: inside CollectionListener::on_unreachable().
void read_allocation_stacks(CapturedCollection& collection, std::span<PyObject* const> objects);

// Call this after the collector has freed the objects. Determines which owners and storages were
// freed, and sets `objects_left`.
void check_freed(CapturedCollection& collection) noexcept;

// Call this after check_freed(), if the collector found more objects unreachable than it freed.
// Marks the owners that are still alive. Returns true if there are any.
[[nodiscard]] bool mark_resurrected(CapturedCollection& collection) noexcept;
// True if all marked owners have been freed by now. Then only these owners are marked as freed.
[[nodiscard]] bool freed_resurrected(CapturedCollection& collection) noexcept;

// Call this after a scan, instead of check_freed(). Storages that other references keep alive, and
// their owners, are marked as not freed.
void check_references(CapturedCollection& collection);
// The indexes of the storages of a collection, by device and identity.
using StorageIndexes = std::map<std::pair<std::string, std::uint64_t>, std::size_t>;
[[nodiscard]] StorageIndexes storage_indexes(const CapturedCollection& collection);
// Like check_references(), for the owners of `collection` and the objects that only their autograd
// graphs keep, some of which are owners of `collection`. Takes the other storages of the latter
// that die. `indexes`: those of `collection`. `owner_of`: for each of `saved.owners`, the index of
// the storage of the owner of the graph.
void check_references(CapturedCollection& collection,
                      CapturedCollection& saved,
                      const StorageIndexes& indexes,
                      const std::vector<std::size_t>& owner_of);

// For each storage of a scan, the signatures of the findings that contain the storage. A finding
// lists only a limited number of owners. A storage that no finding lists may belong to any of them,
// so for such a storage all signatures are returned.
[[nodiscard]] std::vector<std::vector<std::string>> signatures_by_storage(
    const CapturedCollection& collection, const std::vector<model::Finding>& findings);

// Restricts the observation to the freed owners on the devices of `watch`. The result is valid
// until the next call. `record` contains the values that are common to all watches.
const model::Observation& select_owners(CapturedCollection& collection,
                                        const DeviceFilter& watched,
                                        const Watch& watch,
                                        const model::CollectionRecord& record,
                                        Clock::time_point started);

}  // namespace cyclewatch::watch
