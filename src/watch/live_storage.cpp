// SPDX-License-Identifier: Apache-2.0
#include "watch/live_storage.h"

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

constexpr std::string_view kGradient = ".grad";

bool is_parameter(PyObject* object) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
        if (capture::name_of_type(type).module == "torch.nn.parameter") {
            return true;
        }
    }
    return false;
}

// Decides which owner of a storage is reported. Prefers an object to a part of another object.
// Prefers a tensor to the Python object of its storage, because torch keeps that object alive as
// long as the storage.
bool is_better(const PendingOwner& owner, const PendingOwner& best) {
    return !owner.is_part &&
           (best.is_part || (best.reading.shape.empty() && !owner.reading.shape.empty()));
}

bool is_optimizer_state(const model::RetentionPath& path) {
    return std::ranges::any_of(path.references, [](const model::Reference& reference) {
        return reference.holder.starts_with("torch.optim.") && reference.label == ".state";
    });
}

// True if `tensor` is known to be the result of an operation. REQUIRES: not inside a collection.
bool is_computed(PyObject* tensor) {
    // The attribute getters of a subclass may run user code.
    const capture::TypeName name = capture::name_of_type(Py_TYPE(tensor));
    if (name.module != "torch" || name.qualname != "Tensor") {
        return false;
    }
    const python::OwnedRef is_leaf = python::steal(PyObject_GetAttrString(tensor, "is_leaf"));
    PyErr_Clear();
    return is_leaf.get() == Py_False;
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
                                     std::span<PyObject* const> objects) {
    std::vector<LiveStorage> storages(read.observation.storages.size());
    for (const PendingOwner& owner : read.owners) {
        LiveStorage& storage = storages[owner.storage];
        const bool parameter = !owner.is_part && is_parameter(objects[owner.object]);
        if (owner.reading.part.starts_with(kGradient)) {
            storage.gradient = &owner;
            storage.gradient_of = objects[owner.object];
        }
        if (storage.owner == nullptr || (parameter && !storage.has_parameter) ||
            is_better(owner, *storage.owner)) {
            storage.owner = &owner;
            storage.object = objects[owner.object];
        }
        storage.has_parameter = storage.has_parameter || parameter;
    }
    std::erase_if(storages, [](const LiveStorage& each) { return each.owner == nullptr; });
    return storages;
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
    // Autograd refers to the C++ tensor. Other C code, such as NumPy, refers to the tensor's Python
    // object, and `has_library_holders` does not include such references.
    if ((is_held_by_c_code(storage) && storage.has_library_holders) ||
        (!storage.paths.empty() && is_in_graph(storage.paths.front()))) {
        return OwnerCategory::saved_for_backward;
    }
    return is_computed(storage.object) ? OwnerCategory::activation : OwnerCategory::other;
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

void find_library_holders(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    for (LiveStorage& storage : storages) {
        PyObject* const owner = held_object(storage);
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(owner));
        if (reader == nullptr || reader->runs_user_code()) {
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
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(storage.object));
        if (reader != nullptr && !reader->runs_user_code()) {
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
