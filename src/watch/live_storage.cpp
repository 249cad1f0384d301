// SPDX-License-Identifier: Apache-2.0
#include "watch/live_storage.h"

#include <Python.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "python/guards.h"
#include "python/references.h"
#include "retention/views.h"

namespace cyclewatch::watch {
namespace {

constexpr std::string_view kGradient = ".grad";

bool is_parameter(PyObject* object) {
    return capture::has_base(Py_TYPE(object), "torch.nn.parameter", "");
}

// Decides which owner of a storage is reported. Prefers an object to a part of another object.
// Prefers a tensor to the Python object of its storage, because torch keeps that object alive as
// long as the storage. Prefers a sharded array to the arrays of its shards, which it keeps alive.
bool is_better(const PendingOwner& owner, const PendingOwner& best) {
    if (owner.reading.is_shard != best.reading.is_shard) {
        return owner.reading.is_shard;
    }
    return !owner.is_part &&
           (best.is_part || (best.reading.shape.empty() && !owner.reading.shape.empty()));
}

// The size in bytes of a value of a dtype such as "float32"; 0 if unknown.
std::uint64_t item_bytes(std::string_view dtype) {
    if (dtype == "bool") {
        return 1;
    }
    const std::size_t end = dtype.find_last_not_of("0123456789");
    std::uint64_t bits = 0;
    const std::string_view digits = dtype.substr(end == std::string_view::npos ? 0 : end + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    return dtype.find('_') == std::string_view::npos ? bits / 8 : 0;
}

// The product of the numbers in a shape such as "[2, 3]"; nullopt if one is unknown.
std::optional<std::uint64_t> items_of(std::string_view shape) {
    if (!shape.starts_with('[') || shape.find('?') != std::string_view::npos) {
        return std::nullopt;
    }
    std::uint64_t items = 1;
    const char* const end = shape.data() + shape.size();
    for (const char* at = shape.data(); at < end; ++at) {
        std::uint64_t size = 0;
        const auto [next, error] = std::from_chars(at, end, size);
        if (error == std::errc()) {
            items *= size;
            at = next;
        }
    }
    return items;
}

// The bytes of the storage that `object`, its owner, shows; the whole storage if unknown.
std::uint64_t shown_bytes(const PendingOwner& owner, PyObject* object) {
    if (const auto bytes = retention::bytes_of_array(object)) {
        return *bytes;
    }
    const std::optional<std::uint64_t> items = items_of(owner.reading.shape);
    const std::uint64_t size = item_bytes(owner.reading.dtype);
    return owner.type.starts_with("torch.") && items && size > 0 ? *items * size
                                                                 : owner.reading.bytes;
}

bool is_optimizer_state(const model::RetentionPath& path) {
    return std::ranges::any_of(path.references, [](const model::Reference& reference) {
        return reference.holder.starts_with("torch.optim.") && reference.label == ".state";
    });
}

// True if only the library and this census refer to the part of `owner` that uses the storage.
bool is_only_part(device::OwnerReader& reader, PyObject* owner, const LiveStorage& storage) {
    device::OwnerReading reading;
    std::vector<device::LibraryReference> references;
    if (!storage.owner->is_part) {  // it has a Python object
        reader.add_references(owner, references);
    }
    if (reader.read(owner, reading) != device::ReadOutcome::owns) {
        return false;
    }
    reader.count_references(owner, reading);
    const auto is_part = [&](const auto& each) { return each.target == storage.object; };
    const std::int64_t ours = std::ranges::any_of(references, is_part) ? 1 : 0;
    return std::ranges::any_of(reading.parts, [&](const device::OwnerReading& part) {
        return part.storage == storage.owner->reading.storage && part.storage_references > 0 &&
               std::cmp_less_equal(part.storage_references, part.known_references + ours);
    });
}

}  // namespace

bool is_in_graph(const model::RetentionPath& path) {
    return std::ranges::any_of(path.references, [](const model::Reference& reference) {
        return reference.label == "grad_fn";
    });
}

std::vector<LiveStorage> storages_of(const CapturedCollection& read,
                                     std::span<PyObject* const> objects,
                                     const LiveOwners& live) {
    std::vector<LiveStorage> storages(read.observation.storages.size());
    for (const PendingOwner& owner : read.owners) {
        LiveStorage& storage = storages[owner.storage];
        PyObject* const saved_for = live.saved_for(objects[owner.object]);
        storage.saved_for =
            storage.owner == nullptr || saved_for == nullptr ? saved_for : storage.saved_for;
        const bool parameter = !owner.is_part && is_parameter(objects[owner.object]);
        if (owner.reading.part.starts_with(kGradient)) {
            storage.gradient = &owner;
            storage.gradient_of = objects[owner.object];
        } else if (owner.is_part && owner.reading.part.ends_with("()")) {
            storage.component = &owner;
            storage.component_of = objects[owner.object];
        }
        const bool shows_more =
            storage.owner != nullptr && !owner.is_part && !storage.owner->is_part &&
            !storage.has_parameter &&
            shown_bytes(*storage.owner, storage.object) < shown_bytes(owner, objects[owner.object]);
        if (storage.owner == nullptr || (parameter && !storage.has_parameter) || shows_more ||
            is_better(owner, *storage.owner)) {
            storage.owner = &owner;
            storage.object = objects[owner.object];
        }
        storage.has_parameter = storage.has_parameter || parameter;
        storage.is_in_graph = storage.is_in_graph || live.is_in_graph(objects[owner.object]);
        storage.has_unread_graph = storage.has_unread_graph ||
                                   live.unread_graphs().holders.contains(objects[owner.object]);
    }
    std::erase_if(storages, [](const LiveStorage& each) {
        return each.owner == nullptr || each.owner->reading.is_covered;
    });
    return storages;
}

bool is_small_view(const LiveStorage& storage) {
    return !storage.owner->is_part && storage.gradient == nullptr && !storage.has_parameter &&
           shown_bytes(*storage.owner, storage.object) <= storage.owner->reading.bytes / 2;
}

bool is_held_by_c_code(const LiveStorage& storage) {
    return storage.owner->type.starts_with("torch.") && !storage.paths.empty() &&
           storage.paths.front().root.kind == model::RootKind::c_code;
}

model::OwnerCategory category_of(const LiveStorage& storage) {
    using model::OwnerCategory;
    if (storage.has_parameter) {
        return OwnerCategory::parameter;
    }
    if (storage.gradient != nullptr) {
        return OwnerCategory::gradient;
    }
    if (!storage.paths.empty() && is_optimizer_state(storage.paths.front())) {
        return OwnerCategory::optimizer_state;
    }
    if ((is_held_by_c_code(storage) && storage.is_in_graph) ||
        (!storage.paths.empty() && is_in_graph(storage.paths.front()))) {
        return OwnerCategory::saved_for_backward;
    }
    // C++ code refers to the C++ tensor. Other C code, such as NumPy, refers to the tensor's Python
    // object, and `has_library_holders` does not include such references.
    if (is_held_by_c_code(storage) && storage.has_library_holders) {
        return OwnerCategory::held_by_cpp;
    }
    if (storage.owner->reading.has_graph) {
        return OwnerCategory::activation;
    }
    return !storage.paths.empty() && storage.paths.front().is_buffer ? OwnerCategory::buffer
                                                                     : OwnerCategory::other;
}

const PendingOwner* part_of(const LiveStorage& storage) {
    return storage.owner->is_part  ? storage.owner
           : storage.has_parameter ? nullptr
                                   : storage.gradient;
}

PyObject* held_object(const LiveStorage& storage) {
    const PendingOwner* const part = part_of(storage);
    return part != nullptr && part == storage.gradient ? storage.gradient_of : storage.object;
}

void use_component(LiveStorage& storage) {
    if (storage.component != nullptr) {
        storage.owner = storage.component;
        storage.object = storage.component_of;
    }
}

void find_library_holders(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    for (LiveStorage& storage : storages) {
        PyObject* const owner = held_object(storage);
        device::OwnerReader* const reader = registry.native_reader_for(Py_TYPE(owner));
        if (reader == nullptr) {
            continue;
        }
        storage.has_library_holders = reader->library_holders(owner) != 0;
        storage.is_only_part = part_of(storage) != nullptr && is_only_part(*reader, owner, storage);
    }
}

void count_graph_nodes(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    const python::GcPause pause;  // the library creates objects for the nodes
    std::map<device::OwnerReader*, std::vector<LiveStorage*>> by_reader;
    for (LiveStorage& storage : storages) {
        if (auto* const reader = registry.native_reader_for(Py_TYPE(storage.object))) {
            by_reader[reader].push_back(&storage);
        }
    }
    for (auto& [reader, owners] : by_reader) {
        std::ranges::sort(
            owners, std::greater{}, [](const LiveStorage* each) { return each->owner->object; });
        std::vector<PyObject*> objects;
        for (const LiveStorage* const each : owners) {
            objects.push_back(each->object);
        }
        const std::vector<std::size_t> sizes = reader->graph_sizes(objects);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            owners[i]->graph_nodes = sizes[i];
        }
    }
}

}  // namespace cyclewatch::watch
