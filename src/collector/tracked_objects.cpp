// SPDX-License-Identifier: Apache-2.0
#include "collector/tracked_objects.h"

#include "collector/heap_scan.h"
#include "compat/gc_list.h"
#include "python/references.h"

namespace cyclewatch::collector {

bool TrackedObjects::fill(HeapScope scope) noexcept {
    list_.count = 0;
    const cw_walk_result result = collector_is_known() ? walk(scope) : CW_WALK_BROKEN;
    return result == CW_WALK_COMPLETE || (result != CW_WALK_NO_MEMORY && ask(scope.generation));
}

cw_walk_result TrackedObjects::walk(HeapScope scope) noexcept {
    cw_walk_result result = CW_WALK_COMPLETE;
    for (int young = 0; young <= scope.generation && result == CW_WALK_COMPLETE; ++young) {
        result = cw_list_generation(young, &list_);
    }
    first_frozen_ = list_.count;
    if (scope.frozen && result == CW_WALK_COMPLETE) {
        result = cw_list_generation(kCwFrozen, &list_);
    }
    return result;
}

// Uses gc.get_objects().
bool TrackedObjects::ask(int generation) noexcept {
    list_.count = 0;
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const python::OwnedRef get_objects =
        python::steal(gc ? PyObject_GetAttrString(gc.get(), "get_objects") : nullptr);
    for (int young = 0; young <= generation; ++young) {
        if (!get_objects || !append(get_objects.get(), young)) {
            PyErr_Clear();
            return false;
        }
    }
    first_frozen_ = list_.count;
    return true;
}

// Appends the objects that get_objects() returns. Frees the returned list at the end, so that a
// scan does not count the references in the list.
bool TrackedObjects::append(PyObject* get_objects, int generation) noexcept {
    // Pass the argument by position: get_objects() would list the temporary dict that a keyword
    // argument needs.
    const python::OwnedRef number = python::steal(PyLong_FromLong(generation));
    const python::OwnedRef listed =
        python::steal(number ? PyObject_CallOneArg(get_objects, number.get()) : nullptr);
    if (!listed || !PyList_Check(listed.get())) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i) {
        PyObject* const object = PyList_GET_ITEM(listed.get(), i);
        // Skip objects to which only `listed` refers, because they are freed with `listed`.
        if (Py_REFCNT(object) > 1 && cw_add_object(&list_, object) == 0) {
            return false;
        }
    }
    return true;
}

}  // namespace cyclewatch::collector
