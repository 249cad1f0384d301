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
    // If not null, omits these storages, after removing those that were freed.
    ReportedStorages* known = nullptr;
    // Paths through these objects do not count (borrowed). If there are any, owners without another
    // path are left out.
    std::vector<PyObject*> ignored;
    std::vector<retention::Fixture> fixtures;  // additional roots (borrowed)
};

// The owners that the collector tracks, except unreachable ones, in groups; the largest first. A
// storage is counted once: for a parameter, if one uses it, otherwise for the first owner found.
// Frozen objects are included if the collector's lists can be read. Without enough memory for the
// paths, or if other threads of a free-threaded build keep creating objects, groups have
// none. About as expensive as two scans of the heap. May throw std::bad_alloc. REQUIRES: GIL held,
// outside of a collection. RUNS PYTHON: user code, in the readers of registered types only.
[[nodiscard]] std::vector<model::LiveOwner> live_owners(device::OwnerRegistry& registry,
                                                        const CensusSettings& settings);

// The storages of all these owners on `devices`. The requirements of live_owners().
[[nodiscard]] ReportedStorages live_storages(device::OwnerRegistry& registry,
                                             const device::DeviceSelection& devices);

}  // namespace cyclewatch::watch
