// SPDX-License-Identifier: Apache-2.0
#include "retention/library_references.h"

#include <new>

#include "collector/tracked_objects.h"
#include "python/guards.h"

namespace cyclewatch::retention {

std::vector<OwnerReference> library_references(device::OwnerRegistry& registry,
                                               std::span<PyObject* const> owners) {
    const python::GcPause pause;  // the library may create objects
    std::vector<OwnerReference> found;
    std::vector<device::LibraryReference> references;
    for (PyObject* const owner : owners) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(owner));
        if (reader == nullptr || reader->runs_user_code()) {
            continue;
        }
        references.clear();
        reader->add_references(owner, references);
        for (const device::LibraryReference& reference : references) {
            found.push_back({owner, reference});
        }
    }
    return found;
}

std::vector<OwnerReference> library_references(device::OwnerRegistry& registry) {
    collector::TrackedObjects tracked;
    if (!tracked.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
    return library_references(registry, tracked.objects());
}

}  // namespace cyclewatch::retention
