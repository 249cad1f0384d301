// SPDX-License-Identifier: Apache-2.0
#include "collector/gc_hook.h"

#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/callback_entry.h"
#include "collector/canary.h"
#include "collector/self_test.h"
#include "collector/trial_deletion.h"
#include "compat/features.h"
#include "compat/generations.h"
#include "python/deferred_exceptions.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/state_lock.h"

namespace cyclewatch::collector {
namespace {

struct Hook {
    CollectionListener* listener = nullptr;
    Strategy strategy = Strategy::ride_along;
    Canary canary;
    UnreachableSet unreachable;
    Miss miss = Miss::none;
    int young_count_change = 0;
    std::optional<unsigned long> collecting;  // the thread that collects, while one does
    bool created = false;
    CallbackEntry entry;
    python::OwnedRef generation_key;  // "generation"
};

Hook& hook() {
    static Hook& the_hook = *new Hook;  // never destroyed: the interpreter may outlive statics
    return the_hook;
}

Miss miss_of(cw_walk_result result) {
    switch (result) {
        case CW_WALK_COMPLETE:
            return Miss::none;
        case CW_WALK_NOT_LISTED:
            return Miss::not_listed;
        case CW_WALK_BROKEN:
            return Miss::broken_list;
        case CW_WALK_NO_MEMORY:
            return Miss::out_of_memory;
    }
    return Miss::broken_list;
}

void on_canary_unreachable(PyObject* canary) noexcept {
    const python::StateLock lock;
    Hook& h = hook();
    if (h.listener == nullptr || !h.collecting.has_value()) {
        return;
    }
    const python::ErrorStash stash;
    python::YoungCountGuard young_count;
    h.miss = miss_of(h.unreachable.walk(canary));
    if (h.miss == Miss::none) {
        h.listener->on_unreachable(h.unreachable);
        young_count.change(std::exchange(h.young_count_change, 0));
    }
    h.unreachable.clear();
    h.canary.leave_list();
}

void begin_trial_deletion(Hook& h, int generation) noexcept {
    if (!find_garbage_by_trial_deletion(generation, h.unreachable)) {
        h.miss = Miss::out_of_memory;
        return;
    }
    h.listener->on_unreachable(h.unreachable);
    h.unreachable.clear();
}

void begin_collection(Hook& h, int generation) noexcept {
    h.collecting = PyThread_get_thread_ident();
    h.miss = Miss::none;
    h.listener->on_start(generation);
    if (h.strategy == Strategy::trial_deletion) {
        begin_trial_deletion(h, generation);
        return;
    }
    // Room for what a young collection can find unreachable; a larger set grows the buffer once and
    // keeps it.
    if (!h.unreachable.reserve(4096)) {
        h.miss = Miss::out_of_memory;
    }
    if (!h.canary.arm()) {
        h.miss = Miss::not_armed;
    }
}

void end_collection(Hook& h) noexcept {
    if (!h.collecting.has_value()) {
        return;
    }
    if (h.miss == Miss::none && h.strategy == Strategy::ride_along && h.canary.is_held()) {
        h.miss = Miss::canary_held;
    }
    h.canary.disarm();
    h.collecting.reset();
    if (h.miss == Miss::broken_list) {
        h.strategy = Strategy::trial_deletion;
    }
    h.listener->on_stop(h.miss);
    python::raise_deferred();
}

int generation_of(const Hook& h, PyObject* info) noexcept {
    PyObject* generation =
        PyDict_Check(info) ? PyDict_GetItemWithError(info, h.generation_key.get()) : nullptr;
    const long value =
        generation != nullptr && PyLong_Check(generation) ? PyLong_AsLong(generation) : -1;
    return static_cast<int>(value);
}

// gc.callbacks entry: (phase, info). Never raises, whatever it is called with.
PyObject* on_gc_event(PyObject* /*self*/, PyObject* const* args, Py_ssize_t count) {
    const python::StateLock lock;
    Hook& h = hook();
    if (count == 2 && PyUnicode_Check(args[0])) {
        const python::ErrorStash stash;
        python::YoungCountGuard young_count;
        if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
            if (h.listener != nullptr) {
                begin_collection(h, generation_of(h, args[1]));
            }
        } else {
            end_collection(h);
        }
        young_count.change(std::exchange(h.young_count_change, 0));
    }
    Py_RETURN_NONE;
}

PyMethodDef entry_definition{
    "cyclewatch_gc_hook",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_gc_event)),
    METH_FASTCALL,
    "cyclewatch's entry in gc.callbacks."};

void find_generations(PyObject* gc) {
    const python::OwnedRef told = python::steal(PyObject_CallMethod(gc, "get_threshold", nullptr));
    int thresholds[3];
    if (told &&
        PyArg_ParseTuple(told.get(), "iii", &thresholds[0], &thresholds[1], &thresholds[2]) != 0) {
        static_cast<void>(cw_find_generations(thresholds));
    }
    PyErr_Clear();  // without the count only the moments of automatic collections may move
}

bool create_once(Hook& h) {
    if (h.created) {
        return true;
    }
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    if (!gc || !h.canary.create(on_canary_unreachable)) {
        return false;
    }
    find_generations(gc.get());
    python::OwnedRef callbacks = python::steal(PyObject_GetAttrString(gc.get(), "callbacks"));
    python::OwnedRef function = python::steal(PyCFunction_New(&entry_definition, nullptr));
    h.generation_key = python::steal(PyUnicode_InternFromString("generation"));
    h.created = h.entry.create(std::move(callbacks), std::move(function)) && h.generation_key;
    return h.created;
}

bool ride_along_is_proven(Hook& h) noexcept {
    SelfTest self_test;
    h.listener = &self_test;
    h.strategy = Strategy::ride_along;
    put_back();
    const bool passed = self_test.run();
    h.listener = nullptr;
    return passed;
}

// CYCLEWATCH_STRATEGY=unproven makes us treat this interpreter as one we do not know.
base::Result<Installed> choose_strategy(Hook& h) {
    const char* wish = std::getenv("CYCLEWATCH_STRATEGY");
    const std::string_view asked = wish != nullptr ? wish : "auto";
    const bool count_ourselves = asked == "trial-deletion";
    const bool known = cw_collector_is_known() != 0 && asked != "unproven";
    if (!count_ourselves && (known || asked == "ride-along" || ride_along_is_proven(h))) {
        return Installed{Strategy::ride_along, ""};
    }
    if (CYCLEWATCH_HAS_NO_GIL) {
        return base::Error{
            "cyclewatch has nothing but its ride-along on a free-threaded build, where threads "
            "change what trial deletion would count: nothing is watched."};
    }
    if (count_ourselves) {
        return Installed{Strategy::trial_deletion, ""};
    }
    return Installed{Strategy::trial_deletion,
                     std::string("cyclewatch could not prove its ride-along on CPython ") +
                         Py_GetVersion() +
                         " and falls back to trial deletion, which about doubles the time of each "
                         "collection; install a cyclewatch built for this version."};
}

}  // namespace

base::Result<Installed> install(CollectionListener& listener) {
    Hook& h = hook();
    if (!create_once(h)) {
        const bool no_memory = PyErr_ExceptionMatches(PyExc_MemoryError) != 0;
        PyErr_Clear();
        if (no_memory) {
            throw std::bad_alloc();
        }
        return base::Error{"cyclewatch could not reach gc.callbacks of this interpreter."};
    }
    base::Result<Installed> chosen = choose_strategy(h);
    if (!chosen.ok()) {
        remove();
        return chosen;
    }
    h.listener = &listener;
    h.strategy = chosen.value().strategy;
    put_back();
    if (!in_place()) {
        h.listener = nullptr;
        throw std::bad_alloc();
    }
    return chosen;
}

void remove() noexcept {
    Hook& h = hook();
    h.canary.disarm();
    h.collecting.reset();
    h.listener = nullptr;
    if (h.created) {
        h.entry.take_out();
    }
    python::raise_deferred();
}

bool in_place() noexcept {
    return hook().entry.in_place();
}

void put_back() noexcept {
    if (hook().created) {
        hook().entry.put_back();
    }
}

bool is_under_way_here() noexcept {
    return hook().collecting == PyThread_get_thread_ident() && in_place();
}

void change_young_count(int by) noexcept {
    hook().young_count_change += by;
}

Strategy strategy() noexcept {
    return hook().strategy;
}

}  // namespace cyclewatch::collector
