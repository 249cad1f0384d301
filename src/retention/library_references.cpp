// SPDX-License-Identifier: Apache-2.0
#include "retention/library_references.h"

#include <cstdint>
#include <map>
#include <new>
#include <unordered_map>

#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::retention {
namespace {

struct MemoryRange {
    std::uintptr_t start = 0;
    std::uint64_t size = 0;

    [[nodiscard]] bool contains(const device::OwnerReading& reading) const noexcept {
        return reading.device == "cpu" && reading.storage >= start && reading.bytes > 0 &&
               reading.storage - start < size && reading.bytes <= size - (reading.storage - start);
    }
};

// A class defined in Python may override the functions of its base class, so calls on its instances
// could run user code.
bool is_c_type(PyTypeObject* type) noexcept {
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
}

// The memory that the object exports through the buffer protocol. Empty if the object exports no
// memory, or if acquiring the buffer could run user code.
MemoryRange memory_of(PyObject* exporter) {
    MemoryRange range;
    Py_buffer buffer;
    if (is_c_type(Py_TYPE(exporter)) && PyObject_CheckBuffer(exporter) != 0 &&
        PyObject_GetBuffer(exporter, &buffer, PyBUF_FULL_RO) == 0) {
        range.start = reinterpret_cast<std::uintptr_t>(buffer.buf);
        range.size = static_cast<std::uint64_t>(buffer.len);
        PyBuffer_Release(&buffer);
    }
    PyErr_Clear();
    return range;
}

// True if the array's memory belongs to a tensor owner. Follows `base`, the attribute through which
// an array keeps the owner of its memory alive.
bool belongs_to_owner(device::OwnerRegistry& registry, PyObject* array) {
    constexpr int kMaxDepth = 16;
    python::OwnedRef at = python::borrow(array);
    for (int depth = 0; depth < kMaxDepth && at && is_c_type(Py_TYPE(at.get())); ++depth) {
        at = python::steal(PyObject_GetAttrString(at.get(), "base"));
        if (at && registry.reader_for(Py_TYPE(at.get())) != nullptr) {
            return true;
        }
    }
    PyErr_Clear();
    return false;
}

// Holds a strong reference, because functions of the library may release the GIL, so that other
// threads may free objects.
struct HeldOwner {
    python::OwnedRef object;
    device::OwnerReader* reader = nullptr;
};

std::vector<HeldOwner> owners_among(device::OwnerRegistry& registry,
                                    std::span<PyObject* const> objects) {
    std::vector<HeldOwner> owners;
    device::ReaderSearch readers(registry);
    for (PyObject* const object : objects) {
        device::OwnerReader* const reader = readers.reader_of(object);
        if (reader != nullptr && !reader->runs_user_code()) {
            owners.push_back({python::borrow(object), reader});
        }
    }
    return owners;
}

// Returns no objects on free-threaded builds, because other threads could free them.
std::vector<PyObject*> tracked_objects() {
    collector::TrackedObjects tracked;
    if constexpr (CYCLEWATCH_HAS_NO_GIL) {
        return {};
    }
    if (!tracked.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
    const auto objects = tracked.objects();
    return {objects.begin(), objects.end()};
}

void mark_complete(device::OwnerRegistry& registry, std::vector<OwnerReference>& references) {
    std::unordered_map<PyObject*, Py_ssize_t> counts;
    for (const OwnerReference& each : references) {
        ++counts[each.reference.target];
    }
    for (OwnerReference& each : references) {
        const auto count = counts.find(each.reference.target);
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(each.reference.target));
        if (count != counts.end() && reader != nullptr) {
            each.reference.completes =
                reader->library_holders(each.reference.target) == count->second;
            counts.erase(count);
        }
    }
}

std::vector<OwnerReference> references_of(device::OwnerRegistry& registry,
                                          std::span<const HeldOwner> owners) {
    const python::GcPause pause;  // the library may create objects
    std::vector<OwnerReference> found;
    std::vector<device::LibraryReference> references;
    std::vector<python::OwnedRef> targets;  // another thread may replace a gradient
    for (const HeldOwner& owner : owners) {
        references.clear();
        owner.reader->add_references(owner.object.get(), references);
        for (const device::LibraryReference& reference : references) {
            targets.push_back(python::borrow(reference.target));
            found.push_back({owner.object.get(), reference});
        }
    }
    mark_complete(registry, found);
    return found;
}

}  // namespace

std::vector<OwnerReference> library_references(device::OwnerRegistry& registry,
                                               std::span<PyObject* const> owners) {
    return references_of(registry, owners_among(registry, owners));
}

std::vector<OwnerReference> library_references(device::OwnerRegistry& registry) {
    const std::vector<HeldOwner> held = owners_among(registry, tracked_objects());
    std::vector<OwnerReference> found = references_of(registry, held);
    const python::GcPause pause;
    std::map<device::OwnerReader*, std::vector<PyObject*>> owners;
    for (const HeldOwner& owner : held) {
        owners[owner.reader].push_back(owner.object.get());
    }
    for (const auto& [reader, objects] : owners) {
        reader->add_graph_references(objects, found);
    }
    return found;
}

std::vector<OwnerReference> memory_references(device::OwnerRegistry& registry, PyObject* target) {
    const python::GcPause pause;  // the library may create objects
    std::vector<OwnerReference> found;
    const MemoryRange memory = memory_of(target);
    if (memory.size == 0 || registry.reader_for(Py_TYPE(target)) != nullptr ||
        belongs_to_owner(registry, target)) {
        return found;
    }
    for (const HeldOwner& owner : owners_among(registry, tracked_objects())) {
        device::OwnerReading reading;
        if (owner.reader->read(owner.object.get(), reading) == device::ReadOutcome::owns &&
            memory.contains(reading)) {
            found.push_back({owner.object.get(), {"shared memory", false, target}});
        }
    }
    return found;
}

collector::HiddenReferences hidden_references(device::OwnerRegistry& registry,
                                              const device::TorchLayout& layout) {
    const python::GcPause pause;  // the library creates objects
    collector::HiddenReferences hidden;
    registry.add_hidden_references(tracked_objects(), layout, hidden);
    return hidden;
}

}  // namespace cyclewatch::retention
