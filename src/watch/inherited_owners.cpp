// SPDX-License-Identifier: Apache-2.0
#include "watch/inherited_owners.h"

#include <utility>
#include <vector>

#include "collector/tracked_objects.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {

void InheritedOwners::list(device::OwnerRegistry& registry) {
    owners_.clear();
    const python::GcPause pause;  // the readers may create objects
    const python::YoungCountGuard young_count;
    std::vector<std::pair<python::OwnedRef, device::OwnerReader*>> found;
    collector::TrackedObjects tracked;
    const bool listed = tracked.fill_and({.generation = 2, .frozen = true}, [&] {
        objects_ = tracked.objects().size();
        for (PyObject* const object : tracked.objects()) {
            device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object));
            if (reader != nullptr) {
                found.emplace_back(python::borrow(object), reader);
            }
        }
    });
    for (const auto& [object, reader] : found) {
        device::OwnerReading reading;
        const bool owns = reader->runs_user_code() ||
                          reader->read(object.get(), reading) == device::ReadOutcome::owns;
        if (listed && owns) {
            owners_.emplace(object.get(), std::move(reading.weak_storage));
        }
    }
    PyErr_Clear();
}

bool InheritedOwners::contains(PyObject* object) const {
    const auto found = owners_.empty() ? owners_.end() : owners_.find(object);
    return found != owners_.end() && (found->second == nullptr || !found->second->released());
}

}  // namespace cyclewatch::watch
