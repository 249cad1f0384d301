// SPDX-License-Identifier: Apache-2.0
#include "watch/inherited_owners.h"

#include "collector/tracked_objects.h"

namespace cyclewatch::watch {

void InheritedOwners::list(device::OwnerRegistry& registry) {
    owners_.clear();
    collector::TrackedObjects tracked;
    const bool listed = tracked.fill_and({.generation = 2, .frozen = true}, [&] {
        objects_ = tracked.objects().size();
        for (PyObject* const object : tracked.objects()) {
            if (registry.reader_for(Py_TYPE(object)) != nullptr) {
                owners_.insert(object);
            }
        }
    });
    if (!listed) {
        owners_.clear();
        PyErr_Clear();
    }
}

}  // namespace cyclewatch::watch
