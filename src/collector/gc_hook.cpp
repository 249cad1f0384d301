// SPDX-License-Identifier: Apache-2.0
#include "collector/gc_hook.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/canary.h"
#include "collector/heap_scan.h"
#include "compat/features.h"
#include "python/deferred_exceptions.h"
#include "python/forced_unwind.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/state_lock.h"
#include "python/stop_the_world.h"

namespace cyclewatch::collector {
namespace {

// Initial capacity of the unreachable set, enough for most young collections. It never shrinks.
constexpr std::size_t kReservedObjects = 4096;

struct Hook {
    CollectionListener* listener = nullptr;
    Strategy strategy = Strategy::ride_along;
    Canary canary;
    UnreachableSet unreachable;
    Miss miss = Miss::none;
    int young_count_change = 0;
    std::optional<unsigned long> collecting;  // the collecting thread, during a collection
    bool created = false;
    python::OwnedRef callbacks;  // gc.callbacks
    python::OwnedRef entry;      // our function in gc.callbacks
    // Keys of the callback's `info`.
    python::OwnedRef generation_key;
    python::OwnedRef collected_key;
    python::OwnedRef candidates_key;  // since CPython 3.15
    python::OwnedRef duration_key;    // since CPython 3.15
};

Hook& hook() {
    // The hook is never destroyed, because collections may run after static destructors.
    static Hook& the_hook = *new Hook;
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
    if (!h.listener->wants_unreachable()) {
        h.canary.leave_list();
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

void scan_before_collection(Hook& h, int generation) noexcept {
    if (!h.listener->wants_unreachable()) {
        return;
    }
    HeapScan scan;
    if (!scan_heap({.generation = generation}, scan)) {
        h.miss = Miss::out_of_memory;
        return;
    }
    h.listener->on_unreachable(scan.collectable);
}

void begin_collection(Hook& h, int generation) noexcept {
    h.collecting = PyThread_get_thread_ident();
    h.miss = Miss::none;
    h.listener->on_start(generation);
    if (h.strategy == Strategy::heap_scan) {
        scan_before_collection(h, generation);
        return;
    }
    if (!h.unreachable.reserve(kReservedObjects)) {
        h.miss = Miss::out_of_memory;
    }
    if (!h.canary.arm()) {
        h.miss = Miss::not_armed;
    }
}

// The entry for `key` in the callback's `info`; null, without an error set, if there is none.
PyObject* entry_of(PyObject* info, const python::OwnedRef& key) noexcept {
    PyObject* const value = PyDict_Check(info) ? PyDict_GetItemWithError(info, key.get()) : nullptr;
    PyErr_Clear();
    return value;
}

std::uint64_t count_in(PyObject* info, const python::OwnedRef& key) noexcept {
    PyObject* const value = entry_of(info, key);
    const long long count = value != nullptr && PyLong_Check(value) ? PyLong_AsLongLong(value) : 0;
    PyErr_Clear();
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

double seconds_in(PyObject* info, const python::OwnedRef& key) noexcept {
    PyObject* const value = entry_of(info, key);
    return value != nullptr && PyFloat_Check(value) ? std::max(PyFloat_AS_DOUBLE(value), 0.0) : 0;
}

int generation_of(const Hook& h, PyObject* info) noexcept {
    PyObject* const generation = entry_of(info, h.generation_key);
    const long value =
        generation != nullptr && PyLong_Check(generation) ? PyLong_AsLong(generation) : -1;
    return static_cast<int>(value);
}

void end_collection(Hook& h, PyObject* info) noexcept {
    if (!h.collecting.has_value()) {
        return;
    }
    if (h.miss == Miss::none && h.strategy == Strategy::ride_along && h.canary.is_held()) {
        h.miss = Miss::canary_held;
    }
    h.canary.disarm();
    h.collecting.reset();
    if (h.miss == Miss::broken_list) {
        h.strategy = Strategy::heap_scan;
    }
    h.listener->on_stop({.miss = h.miss,
                         .reclaimed = count_in(info, h.collected_key),
                         .examined = count_in(info, h.candidates_key),
                         .seconds = seconds_in(info, h.duration_key)});
    python::raise_deferred();
}

// The entry in gc.callbacks, called with (phase, info). Never raises, regardless of the arguments.
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
            end_collection(h, args[1]);
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

// The index of the last occurrence of our entry in gc.callbacks; -1 if there is none.
Py_ssize_t last_position(const Hook& h) noexcept {
    const python::ErrorStash stash;
    // Without a GIL, other threads may change the list concurrently, so borrowed references to its
    // items would be unsafe.
    const auto is_ours_at = [&h](Py_ssize_t position) {
        return python::steal(PySequence_GetItem(h.callbacks.get(), position)).get() ==
               h.entry.get();
    };
    Py_ssize_t position = PyList_GET_SIZE(h.callbacks.get()) - 1;
    while (position >= 0 && !is_ours_at(position)) {
        --position;
    }
    return position;
}

// Removes every occurrence of our entry, because the program may have added it more than once.
void take_out(Hook& h) noexcept {
    const python::ErrorStash stash;
    python::with_world_stopped([&h] {
        for (Py_ssize_t at = last_position(h); at >= 0; at = last_position(h)) {
            PyList_SetSlice(h.callbacks.get(), at, at + 1, nullptr);
        }
    });
}

bool create_once(Hook& h) {
    if (h.created) {
        return true;
    }
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    if (!gc || !h.canary.create(on_canary_unreachable)) {
        return false;
    }
    find_generations();
    h.callbacks = python::steal(PyObject_GetAttrString(gc.get(), "callbacks"));
    h.entry = python::steal(PyCFunction_New(&entry_definition, nullptr));
    h.generation_key = python::steal(PyUnicode_InternFromString("generation"));
    h.collected_key = python::steal(PyUnicode_InternFromString("collected"));
    h.candidates_key = python::steal(PyUnicode_InternFromString("candidates"));
    h.duration_key = python::steal(PyUnicode_InternFromString("duration"));
    h.created = h.callbacks && PyList_Check(h.callbacks.get()) && h.entry && h.generation_key &&
                h.collected_key && h.candidates_key && h.duration_key;
    return h.created;
}

constexpr int kKnownObjects = 64;

// Creates unreachable lists, each of which contains only a reference to itself.
bool make_known_garbage(std::vector<PyObject*>& addresses) {
    for (int i = 0; i < kKnownObjects; ++i) {
        const python::OwnedRef list = python::steal(PyList_New(0));
        if (!list || PyList_Append(list.get(), list.get()) < 0) {
            return false;
        }
        addresses.push_back(list.get());
    }
    return true;
}

// The result of gc.collect(0); -1 on error.
long collect_young() {
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const auto collect = [&gc] { return PyObject_CallMethod(gc.get(), "collect", "i", 0); };
    const python::OwnedRef count = python::steal(gc ? python::let_others_run(collect) : nullptr);
    return count ? PyLong_AsLong(count.get()) : -1;
}

// Tests the ride-along strategy on garbage that the test creates. Used on CPython versions that are
// unknown to this build.
class SelfTest final : public CollectionListener {
  public:
    // Runs two young collections. The first frees existing garbage, and the second must find the
    // garbage created by the test. Returns true if the second collection finds exactly the test's
    // objects and gc.collect() returns their number. Does not leave a Python error.
    // REQUIRES: GIL held, and this object is installed as the hook's listener. RUNS PYTHON:
    // gc.collect(0), and therefore the finalizers of the program's young garbage.
    [[nodiscard]] bool run() noexcept {
        const python::ErrorStash stash;
        try {
            return collect_known_garbage();
        } catch (...) {
            return false;
        }
    }

    void on_start(int /*generation*/) noexcept override { seen_.clear(); }
    void on_unreachable(const UnreachableSet& unreachable) noexcept override {
        try {
            seen_.assign(unreachable.objects().begin(), unreachable.objects().end());
        } catch (...) {
            seen_.clear();
        }
    }
    void on_stop(const CollectionOutcome& outcome) noexcept override { miss_ = outcome.miss; }

  private:
    bool collect_known_garbage() {
        std::vector<PyObject*> known;
        if (collect_young() < 0 || !make_known_garbage(known)) {
            return false;
        }
        if (collect_young() != kKnownObjects || miss_ != Miss::none) {
            return false;
        }
        std::ranges::sort(known);
        std::ranges::sort(seen_);
        return known == seen_;
    }

    std::vector<PyObject*> seen_;  // compared, never dereferenced
    Miss miss_ = Miss::none;
};

bool ride_along_works(Hook& h) noexcept {
    SelfTest self_test;
    h.listener = &self_test;
    h.strategy = Strategy::ride_along;
    put_back();
    const bool passed = self_test.run();
    h.listener = nullptr;
    return passed;
}

base::Result<Installed> choose_strategy(Hook& h) {
    const char* const variable = std::getenv("CYCLEWATCH_STRATEGY");
    const std::string_view requested = variable != nullptr ? variable : "auto";
    const bool scan = requested == "heap-scan";
    if (!scan && (collector_is_known() || requested == "ride-along" || ride_along_works(h))) {
        return Installed{Strategy::ride_along, ""};
    }
    if (CYCLEWATCH_HAS_NO_GIL) {
        return base::Error{
            "cyclewatch cannot scan the heap on a free-threaded build, because other threads "
            "change reference counts during the scan; nothing is watched."};
    }
    if (scan) {
        return Installed{Strategy::heap_scan, ""};
    }
    return Installed{
        Strategy::heap_scan,
        std::string("cyclewatch cannot read the garbage collector's list on CPython ") +
            Py_GetVersion() +
            " and scans the heap instead, which roughly doubles the time of each "
            "collection. Install a cyclewatch version built for this interpreter."};
}

}  // namespace

base::Result<Installed> install(CollectionListener& listener) {
    Hook& h = hook();
    if (!create_once(h)) {
        PyErr_Clear();
        return base::Error{"cyclewatch cannot add itself to gc.callbacks."};
    }
    base::Result<Installed> chosen = choose_strategy(h);
    if (!chosen.ok()) {
        remove();
        return chosen;
    }
    h.listener = &listener;
    h.strategy = chosen.value().strategy;
    put_back();
    return chosen;
}

void remove() noexcept {
    Hook& h = hook();
    h.canary.disarm();
    h.collecting.reset();
    h.listener = nullptr;
    if (h.created) {
        take_out(h);
    }
    python::raise_deferred();
}

bool in_place() noexcept {
    return hook().created && last_position(hook()) >= 0;
}

void put_back() noexcept {
    const Hook& h = hook();
    if (!h.created) {
        return;
    }
    const python::ErrorStash stash;
    python::with_world_stopped([&h] {
        if (!in_place()) {
            PyList_Append(h.callbacks.get(), h.entry.get());
        }
    });
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
