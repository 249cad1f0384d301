// SPDX-License-Identifier: Apache-2.0
// Lists the owners that a collection would not free, and the references that hold them.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device_selection.h"
#include "device/owner_registry.h"
#include "model/retention.h"
#include "retention/roots.h"
#include "watch/reported_storages.h"

namespace cyclewatch::watch {

struct CensusSettings {
    device::DeviceSelection devices;
    std::uint64_t min_bytes = 0;  // of a group
    std::size_t top = SIZE_MAX;   // number of groups
    bool show_keys = true;        // of dicts, even if they do not occur in the source code
    // If not null, these storages are omitted. Storages that were freed are removed from this set
    // first.
    ReportedStorages* known = nullptr;
    // Borrowed objects. Paths through these objects do not count. If there are any such objects,
    // owners without another path are left out.
    std::vector<PyObject*> ignored;
    std::vector<retention::Fixture> fixtures;  // additional roots (borrowed)
};

// Returns groups of the owners that the collector tracks, except unreachable ones; the largest
// group comes first. A storage is counted only once. If a parameter uses the storage, it is counted
// for the parameter, otherwise for the first owner found. Frozen objects are included if the
// collector's lists can be read. Groups have no paths if there is not enough memory for them, or if
// other threads of a free-threaded build keep creating objects. About as expensive as two scans of
// the heap. May throw std::bad_alloc. REQUIRES: GIL held, outside of a collection. RUNS PYTHON:
// user code, in the readers of registered types only.
[[nodiscard]] std::vector<model::LiveOwner> live_owners(device::OwnerRegistry& registry,
                                                        const CensusSettings& settings);

// Returns the storages of all owners on `devices` that live_owners() would find. The requirements
// are those of live_owners().
[[nodiscard]] ReportedStorages live_storages(device::OwnerRegistry& registry,
                                             const device::DeviceSelection& devices);

}  // namespace cyclewatch::watch
