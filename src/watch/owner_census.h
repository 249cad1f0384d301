// SPDX-License-Identifier: Apache-2.0
// Lists the reachable owners, and the references that keep them alive.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device_selection.h"
#include "device/owner_registry.h"
#include "model/retention.h"
#include "retention/roots.h"
#include "watch/live_owners.h"
#include "watch/reported_storages.h"

namespace cyclewatch::watch {

struct CensusSettings {
    device::DeviceSelection devices;
    std::uint64_t min_bytes = 0;  // of a group
    std::size_t top = SIZE_MAX;   // number of groups
    bool show_keys = true;        // of dicts, even if they do not occur in the source code
    bool examines_pages = false;  // sets model::LiveOwner::absent_bytes
    // The storages to omit, or null. Freed storages are removed from this set first.
    ReportedStorages* known = nullptr;
    // The storages that a scan has found, which are omitted as above. If null, also omits what only
    // the graphs of unreachable owners keep.
    ReportedStorages* dead = nullptr;
    // Borrowed objects. Paths through these objects are ignored. If the list is not empty, owners
    // without another path are omitted.
    std::vector<PyObject*> ignored;
    std::vector<retention::Fixture> fixtures;  // additional roots (borrowed)
};

struct LiveGroups {
    std::vector<model::LiveOwner> groups;  // largest first
    // A sentence about the tensors that may be missing from the groups; "" if there are none.
    std::string unread_graphs;
};

// Groups the reachable owners. Owners without a GC header are found if a tracked object, an
// untracked container or a running function refers to them. A storage is counted only once, under
// one of its owners, preferably a torch parameter. Frozen objects are included if the collector's
// lists can be read. Groups have no paths if there is not
// enough memory to find paths, or if other threads of a free-threaded build keep creating objects.
// About as expensive as two scans of the heap. May throw std::bad_alloc. REQUIRES: GIL held,
// outside of a collection. RUNS PYTHON: user code, in the readers of registered types only.
[[nodiscard]] LiveGroups live_owners(device::OwnerRegistry& registry,
                                     const CensusSettings& settings);
// The same for owners that have already been found, with a single scan of the heap.
[[nodiscard]] LiveGroups live_owners(device::OwnerRegistry& registry,
                                     const CensusSettings& settings,
                                     LiveOwners found);

// A storage and its owner, for dump_snapshot().
struct OwnedStorage {
    std::string device;
    std::uint64_t storage = 0;  // device::OwnerReading::storage
    std::uint64_t bytes = 0;
    std::string type;  // of the owner
    model::OwnerCategory category = model::OwnerCategory::other;
    // The first path, written as in RetentionPath::text; "" if there is no path. Storages that are
    // equal and in the same list or large dict share a path without indexes, such as "losses[x]".
    std::string path;
};

// Returns the storages that live_owners() counts, one by one. The requirements of live_owners()
// apply.
[[nodiscard]] std::vector<OwnedStorage> owned_storages(device::OwnerRegistry& registry,
                                                       const CensusSettings& settings);

// Returns the storages of all owners on `devices` that live_owners() would find. The requirements
// of live_owners() apply.
[[nodiscard]] ReportedStorages live_storages(device::OwnerRegistry& registry,
                                             const device::DeviceSelection& devices);

}  // namespace cyclewatch::watch
