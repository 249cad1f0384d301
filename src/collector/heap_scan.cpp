// SPDX-License-Identifier: Apache-2.0
#include "collector/heap_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "compat/generations.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/type_traversal.h"

namespace cyclewatch::collector {
namespace {

// The objects to examine, as borrowed references: those of the generations, then the frozen ones.
class Candidates {
  public:
    Candidates() = default;
    Candidates(const Candidates&) = delete;
    Candidates& operator=(const Candidates&) = delete;
    ~Candidates() { cw_free_objects(&list_); }

    [[nodiscard]] bool fill(HeapScope scope) {
        const cw_walk_result result = collector_is_known() ? walk(scope) : CW_WALK_BROKEN;
        return result == CW_WALK_COMPLETE || (result != CW_WALK_NO_MEMORY && ask(scope.generation));
    }
    [[nodiscard]] std::span<PyObject* const> objects() const {
        return {list_.objects, list_.count};
    }
    [[nodiscard]] std::size_t first_frozen() const { return first_frozen_; }

  private:
    cw_walk_result walk(HeapScope scope) {
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
    bool ask(int generation) {
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

    // Frees the list of get_objects(), so that its references are not counted.
    bool append(PyObject* get_objects, int generation) {
        // Positional: a dict of keyword arguments would be listed, and freed after the call.
        const python::OwnedRef number = python::steal(PyLong_FromLong(generation));
        const python::OwnedRef listed =
            python::steal(number ? PyObject_CallOneArg(get_objects, number.get()) : nullptr);
        if (!listed || !PyList_Check(listed.get())) {
            return false;
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i) {
            PyObject* const object = PyList_GET_ITEM(listed.get(), i);
            // Skip objects that only this list refers to: they are freed with it.
            if (Py_REFCNT(object) > 1 && cw_add_object(&list_, object) == 0) {
                return false;
            }
        }
        return true;
    }

    cw_object_list list_{};
    std::size_t first_frozen_ = 0;
};

// The search for unreachable objects. Each object has an integer state. Initially this is its
// reference count minus the references between candidates. During the sweep, 0 means not reached,
// positive means reached but still ahead of the sweep, and negative means reached. The negative
// states also form a stack of the objects to traverse next: each contains the position of the
// object below it.
class UnreachableSearch {
  public:
    explicit UnreachableSearch(const Candidates& candidates) : objects_(candidates.objects()) {
        if (objects_.size() >= kMaxObjects) {
            throw std::bad_alloc();
        }
        index_.build(objects_);
        states_.reserve(objects_.size());
    }

    void run() {
        for (PyObject* object : objects_) {
            states_.push_back(static_cast<std::int32_t>(
                std::min<Py_ssize_t>(Py_REFCNT(object), std::numeric_limits<std::int32_t>::max())));
        }
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            prefetch(i);
            traverse<subtract>(i);
        }
        for (position_ = 0; position_ < objects_.size(); ++position_) {
            prefetch(position_);
            // A negative count also keeps the object alive. It results from a tp_traverse that
            // visits a reference that the object does not own.
            if (states_[position_] != 0) {
                states_[position_] = link(kNone);
                traverse<reach>(position_);
            }
            while (top_ != kNone) {
                const std::uint32_t reached = top_;
                top_ = below(states_[reached]);
                traverse<reach>(reached);
            }
        }
    }

    // Moves the unreachable objects into `scan`. `first_frozen`: position of the first frozen one.
    void divide(std::size_t first_frozen, HeapScan& scan) {
        std::vector<PyObject*> collectable;
        std::vector<PyObject*> frozen;
        // Everything reachable from an unreachable frozen object. reach() pushes all of it, because
        // the sweep has ended.
        for (std::size_t i = first_frozen; i < objects_.size(); ++i) {
            if (states_[i] == 0) {
                push(static_cast<std::uint32_t>(i));
            }
            while (top_ != kNone) {
                const std::uint32_t reached = top_;
                top_ = below(states_[reached]);
                frozen.push_back(objects_[reached]);
                traverse<reach>(reached);
            }
        }
        for (std::size_t i = 0; i < first_frozen; ++i) {
            if (states_[i] == 0) {
                collectable.push_back(objects_[i]);
            }
        }
        scan.collectable.assign(collectable);
        scan.frozen.assign(frozen);
    }

  private:
    static constexpr std::uint32_t kNone = (1U << 30) - 1;
    static constexpr std::size_t kMaxObjects = kNone;

    static std::int32_t link(std::uint32_t next) { return -1 - static_cast<std::int32_t>(next); }
    static std::uint32_t below(std::int32_t link) { return static_cast<std::uint32_t>(-1 - link); }

    void push(std::uint32_t position) {
        states_[position] = link(top_);
        top_ = position;
    }

    void prefetch(std::size_t position) const {
        constexpr std::size_t kAhead = 8;
        __builtin_prefetch(objects_[std::min(position + kAhead, objects_.size() - 1)]);
    }

    template <visitproc kVisit>
    void traverse(std::size_t position) {
        PyObject* const object = objects_[position];
        next_ = position + 1 < objects_.size() ? objects_[position + 1] : nullptr;
        next_at_ = static_cast<std::uint32_t>(position + 1);
        if (Py_TYPE(object) != type_) {
            type_ = Py_TYPE(object);
            type_at_ = index_.find(reinterpret_cast<PyObject*>(type_));
        }
        traversals_.of(type_).visit<kVisit>(object, this);
    }

    static int subtract(PyObject* target, void* context) noexcept {
        auto& search = *static_cast<UnreachableSearch*>(context);
        if (const std::uint32_t at = search.find(target); at != PointerIndex::kAbsent) {
            --search.states_[at];
        }
        return 0;
    }

    static int reach(PyObject* target, void* context) noexcept {
        auto& search = *static_cast<UnreachableSearch*>(context);
        const std::uint32_t at = search.find(target);
        if (at == PointerIndex::kAbsent || search.states_[at] != 0) {
            return 0;
        }
        if (at > search.position_) {
            search.states_[at] = 1;  // the sweep will visit it, in the order of allocation
        } else {
            search.push(at);
        }
        return 0;
    }

    // Most references lead to the object allocated next, to the type, or to the same object that is
    // not a candidate, such as None: these require no lookup.
    [[nodiscard]] std::uint32_t find(PyObject* target) noexcept {
        if (target == nullptr || target == absent_) {
            return PointerIndex::kAbsent;
        }
        if (target == next_) {
            return next_at_;
        }
        if (target == reinterpret_cast<PyObject*>(type_)) {
            return type_at_;
        }
        const std::uint32_t at = index_.find(target);
        if (at == PointerIndex::kAbsent) {
            absent_ = target;
        }
        return at;
    }

    const std::span<PyObject* const> objects_;
    PointerIndex index_;
    python::TypeTraversals traversals_;
    std::vector<std::int32_t> states_;
    PyObject* next_ = nullptr;  // the object after the one that is traversed
    std::uint32_t next_at_ = 0;
    PyTypeObject* type_ = nullptr;  // of the object that is traversed
    std::uint32_t type_at_ = PointerIndex::kAbsent;
    PyObject* absent_ = nullptr;  // the last target that is not a candidate
    std::size_t position_ = 0;    // of the sweep
    std::uint32_t top_ = kNone;
};

}  // namespace

bool collector_is_known() noexcept {
    const char* const variable = std::getenv("CYCLEWATCH_STRATEGY");
    const std::string_view strategy = variable != nullptr ? variable : "";
    return cw_collector_is_known() != 0 && strategy != "unproven" && strategy != "heap-scan";
}

void find_generations() noexcept {
    const python::ErrorStash stash;
    static bool found = false;
    const python::OwnedRef gc = python::steal(found ? nullptr : PyImport_ImportModule("gc"));
    const python::OwnedRef values =
        python::steal(gc ? PyObject_CallMethod(gc.get(), "get_threshold", nullptr) : nullptr);
    int thresholds[3];
    if (values && PyArg_ParseTuple(
                      values.get(), "iii", &thresholds[0], &thresholds[1], &thresholds[2]) != 0) {
        found = cw_find_generations(thresholds) != 0;
    }
}

bool scan_heap(HeapScope scope, HeapScan& scan) noexcept {
    const python::ErrorStash stash;
    try {
        Candidates candidates;
        if (!candidates.fill(scope)) {
            return false;
        }
        UnreachableSearch search(candidates);
        search.run();
        search.divide(candidates.first_frozen(), scan);
        return true;
    } catch (...) {
        scan.collectable.clear();
        scan.frozen.clear();
        return false;
    }
}

}  // namespace cyclewatch::collector
