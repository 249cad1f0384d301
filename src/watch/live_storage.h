// SPDX-License-Identifier: Apache-2.0
// A storage that is in use, the owner under which it is reported, and its category.
#pragma once

#include <Python.h>

#include <cstddef>
#include <span>
#include <vector>

#include "device/owner_registry.h"
#include "model/retention.h"
#include "watch/captured_collection.h"
#include "watch/live_owners.h"

namespace cyclewatch::watch {

// One storage, and the owner under which it is reported.
struct LiveStorage {
    const PendingOwner* owner = nullptr;
    PyObject* object = nullptr;
    bool has_parameter = false;
    const PendingOwner* gradient = nullptr;  // the owner, if it is a gradient
    PyObject* gradient_of = nullptr;
    const PendingOwner* component = nullptr;  // the owner, if it is a part of a sparse tensor
    PyObject* component_of = nullptr;
    bool is_in_graph = false;             // the graph of another live owner leads to an owner
    PyObject* saved_for = nullptr;        // see LiveOwners; null unless it is so for all owners
    bool has_unread_graph = false;        // see device::UnreadGraphs
    bool is_only_part = false;            // a part to which nothing else refers
    bool has_library_holders = false;     // also true if unknown
    std::size_t graph_nodes = 0;          // see model::LiveOwner
    std::uint64_t absent_bytes = 0;       // see model::LiveOwner; of all `count` storages
    std::size_t count = 1;                // of storages that are equal except for their address
    LiveStorage* counted_with = nullptr;  // where this storage is counted, if `count` is 0
    bool is_item = false;  // only lists, sets, deques and large dicts refer to the object
    std::vector<model::RetentionPath> paths;
    model::OwnerCategory category = model::OwnerCategory::other;  // given the first path
    bool is_gone = false;  // it has been released, or all of its paths are ignored
};

// The storages of the owners in `read`. `objects`: the owners' objects, borrowed. `live`: contains
// them.
[[nodiscard]] std::vector<LiveStorage> storages_of(const CapturedCollection& read,
                                                   std::span<PyObject* const> objects,
                                                   const LiveOwners& live);

// True if `storage` belongs to a torch tensor, and C code is the only known holder of the tensor.
[[nodiscard]] bool is_held_by_c_code(const LiveStorage& storage);

// True if the path continues through the autograd graph of a tensor.
[[nodiscard]] bool is_in_graph(const model::RetentionPath& path);

// True if `storage.object` is a view of at most half of the storage.
[[nodiscard]] bool is_small_view(const LiveStorage& storage);

// What the storage is used for, given its first path, if any.
[[nodiscard]] model::OwnerCategory category_of(const LiveStorage& storage);

// The owner to append to the path if the storage belongs to a part of another object, such as a
// gradient; otherwise null.
[[nodiscard]] const PendingOwner* part_of(const LiveStorage& storage);

// The object to which the path search must find paths.
[[nodiscard]] PyObject* held_object(const LiveStorage& storage);

// Makes the storage a part of a sparse tensor, if it is one: only C++ code holds its own object.
void use_component(LiveStorage& storage);

// Sets `has_library_holders` and `is_only_part`. REQUIRES: not inside a collection. RUNS PYTHON: no
// user code.
void find_library_holders(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages);

// Counts the nodes of the autograd graphs. The newest tensors come first, because the graph of a
// result includes the graphs of what it was computed from. REQUIRES: not inside a collection. RUNS
// PYTHON: no user code.
void count_graph_nodes(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages);

}  // namespace cyclewatch::watch
