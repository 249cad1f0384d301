// SPDX-License-Identifier: Apache-2.0
#include "collector/trial_deletion.h"

#include <new>
#include <vector>

#include "compat/frame_access.h"
#include "python/references.h"

namespace cyclewatch::collector {
namespace {

struct Trial {
    std::vector<PyObject*> objects;
    PointerIndex index;
    std::vector<Py_ssize_t> outside_references;  // per object
    std::vector<std::uint32_t> worklist;
    std::vector<bool> alive;
};

// Appends gc.get_objects(generation) as borrowed pointers. Frees the list, so that its references
// are not counted.
bool append_generation(PyObject* get_objects, int generation, std::vector<PyObject*>& objects) {
    // Positional: a dict of keyword arguments would be listed, and freed after the call.
    const python::OwnedRef number = python::steal(PyLong_FromLong(generation));
    const python::OwnedRef list =
        python::steal(number ? PyObject_CallOneArg(get_objects, number.get()) : nullptr);
    if (!list || !PyList_Check(list.get())) {
        return false;
    }
    const Py_ssize_t size = PyList_GET_SIZE(list.get());
    for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* const object = PyList_GET_ITEM(list.get(), i);
        // Skip objects that only this list refers to: they are freed with it.
        if (Py_REFCNT(object) > 1) {
            objects.push_back(object);
        }
    }
    return true;
}

bool list_candidates(int generation, std::vector<PyObject*>& objects) {
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const python::OwnedRef get_objects =
        python::steal(gc ? PyObject_GetAttrString(gc.get(), "get_objects") : nullptr);
    if (!get_objects) {
        return false;
    }
    for (int young = 0; young <= generation; ++young) {
        if (!append_generation(get_objects.get(), young, objects)) {
            return false;
        }
    }
    return true;
}

int subtract(PyObject* target, void* context) {
    auto& trial = *static_cast<Trial*>(context);
    if (const auto at = trial.index.find(target); at != PointerIndex::kAbsent) {
        --trial.outside_references[at];
    }
    return 0;
}

int revive(PyObject* target, void* context) {
    auto& trial = *static_cast<Trial*>(context);
    const auto at = trial.index.find(target);
    if (at != PointerIndex::kAbsent && !trial.alive[at]) {
        trial.alive[at] = true;
        trial.worklist.push_back(at);  // does not throw: room for all objects is reserved
    }
    return 0;
}

void traverse(PyObject* object, traverseproc function, visitproc visit, Trial& trial) {
    if (function != nullptr) {
        function(object, visit, &trial);
    }
}

void mark_reachable(Trial& trial) {
    trial.alive.assign(trial.objects.size(), false);
    trial.worklist.reserve(trial.objects.size());
    for (std::uint32_t i = 0; i < trial.objects.size(); ++i) {
        if (trial.outside_references[i] > 0 && !trial.alive[i]) {
            trial.alive[i] = true;
            trial.worklist.push_back(i);
        }
        while (!trial.worklist.empty()) {
            const std::uint32_t reached = trial.worklist.back();
            trial.worklist.pop_back();
            PyObject* const object = trial.objects[reached];
            traverse(object, Py_TYPE(object)->tp_traverse, revive, trial);
        }
    }
}

bool run(int generation, UnreachableSet& unreachable) {
    Trial trial;
    if (!list_candidates(generation, trial.objects)) {
        PyErr_Clear();
        return false;
    }
    trial.index.build(trial.objects);
    trial.outside_references.reserve(trial.objects.size());
    for (PyObject* object : trial.objects) {
        trial.outside_references.push_back(Py_REFCNT(object));
    }
    for (PyObject* object : trial.objects) {
        traverse(object, cyclewatch_counted_traverse(Py_TYPE(object)), subtract, trial);
    }
    mark_reachable(trial);
    std::vector<PyObject*> garbage;
    for (std::uint32_t i = 0; i < trial.objects.size(); ++i) {
        if (!trial.alive[i]) {
            garbage.push_back(trial.objects[i]);
        }
    }
    unreachable.assign(garbage);
    return true;
}

}  // namespace

bool find_garbage_by_trial_deletion(int generation, UnreachableSet& unreachable) noexcept {
    try {
        return run(generation, unreachable);
    } catch (...) {
        PyErr_Clear();
        unreachable.clear();
        return false;
    }
}

}  // namespace cyclewatch::collector
