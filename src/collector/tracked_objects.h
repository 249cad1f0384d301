// SPDX-License-Identifier: Apache-2.0
// Lists the tracked objects, and visits the references between them. Heap walks are read-only: they
// do not change reference counts or move objects.
//
// REQUIRES (everything here): GIL held, and the other threads stopped. RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "collector/unreachable_set.h"
#include "compat/gc_list.h"
#include "compat/plain_instance.h"
#include "python/stop_the_world.h"
#include "python/type_traversal.h"

namespace cyclewatch::collector {

// Which objects to list.
struct HeapScope {
    int generation = 2;   // the objects of this generation and younger ones
    bool frozen = false;  // also the objects frozen by gc.freeze()
};

// Borrowed references to the tracked objects: first those in the requested generations, then the
// frozen ones. Valid as long as no Python code runs.
class TrackedObjects {
  public:
    TrackedObjects() = default;
    TrackedObjects(const TrackedObjects&) = delete;
    TrackedObjects& operator=(const TrackedObjects&) = delete;
    ~TrackedObjects() { cw_free_objects(&list_); }

    // If the collector's lists cannot be read, lists the objects that gc.get_objects() returns,
    // which never include frozen objects. Returns false if out of memory or if gc.get_objects()
    // fails. REQUIRES: a build with a GIL.
    [[nodiscard]] bool fill(HeapScope scope) noexcept;
    // Lists the objects and calls `work` while no other thread can change them. Returns false in
    // the same cases as fill(). Propagates exceptions thrown by `work`. On free-threaded builds,
    // lists all objects that are not frozen. Also returns false, possibly after calling `work`, if
    // other threads created objects during the call.
    template <typename Work>
    [[nodiscard]] bool fill_and(HeapScope scope, Work&& work) {
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            return python::with_heap_listed(list_, [&] {
                       first_frozen_ = list_.count;
                       work();
                   }) == CW_WALK_COMPLETE;
        }
        const bool filled = fill(scope);
        if (filled) {
            work();
        }
        return filled;
    }
    // Appends `object`, which must not be in the list yet. Returns false if out of memory.
    [[nodiscard]] bool add(PyObject* object) noexcept { return cw_add_object(&list_, object) != 0; }

    [[nodiscard]] std::span<PyObject* const> objects() const noexcept {
        return {list_.objects, list_.count};
    }
    [[nodiscard]] std::size_t first_frozen() const noexcept { return first_frozen_; }

  private:
    cw_walk_result walk(HeapScope scope) noexcept;
    bool ask(int generation) noexcept;
    bool append(PyObject* get_objects, int generation) noexcept;

    cw_object_list list_{};
    std::size_t first_frozen_ = 0;
};

// Prefetches the objects that a sweep in ascending order will reach soon, and the memory in which
// they store their references.
inline void prefetch_ahead(std::span<PyObject* const> objects, std::size_t position) noexcept {
    constexpr std::size_t kAhead = 16;
    const std::size_t last = objects.size() - 1;
    __builtin_prefetch(objects[std::min(position + kAhead, last)]);
    cw_prefetch_references(objects[std::min(position + kAhead / 2, last)]);
}

// Visits the references of listed objects and finds the positions of their targets. Uses 8 to 16
// bytes per object.
class ReferenceWalk {
  public:
    static constexpr std::uint32_t kAbsent = PointerIndex::kAbsent;

    ReferenceWalk() = default;
    explicit ReferenceWalk(std::span<PyObject* const> objects) { start(objects); }

    // Reuses the memory of the previous walk. The span must outlive the walk and contain no
    // duplicates. May throw std::bad_alloc.
    void start(std::span<PyObject* const> objects) {
        if (objects.size() >= kMaxObjects) {
            throw std::bad_alloc();
        }
        objects_ = objects;
        traversals_ = {};
        type_ = nullptr;
        previous_type_ = nullptr;
        absent_ = nullptr;
        index_.build(objects_);
    }

    [[nodiscard]] std::span<PyObject* const> objects() const noexcept { return objects_; }

    void prefetch(std::size_t position) const noexcept { prefetch_ahead(objects_, position); }

    // Calls kVisit(target, context) for each reference that the object at `position` owns. The
    // target may be null.
    template <visitproc kVisit>
    void traverse(std::size_t position, void* context) noexcept {
        PyObject* const object = objects_[position];
        next_ = position + 1 < objects_.size() ? objects_[position + 1] : nullptr;
        next_at_ = static_cast<std::uint32_t>(position + 1);
        if (Py_TYPE(object) != type_) {
            // Cache the positions of two types, because the list often alternates between instances
            // and their dicts or lists.
            std::swap(type_, previous_type_);
            std::swap(type_at_, previous_type_at_);
            if (Py_TYPE(object) != type_) {
                type_ = Py_TYPE(object);
                type_at_ = index_.find(reinterpret_cast<PyObject*>(type_));
            }
        }
        traversals_.of(type_).visit<kVisit>(object, context);
    }

    // The position of `target`, or kAbsent. Optimized for the targets that traverse() visits. Most
    // of these targets need no lookup: they are the next object in the list, the type of the
    // traversed object, or the most recent target that is not in the list, such as None.
    [[nodiscard]] std::uint32_t find(PyObject* target) noexcept {
        if (target == nullptr || target == absent_) {
            return kAbsent;
        }
        if (target == next_) {
            return next_at_;
        }
        if (target == reinterpret_cast<PyObject*>(type_)) {
            return type_at_;
        }
        const std::uint32_t at = index_.find(target);
        if (at == kAbsent) {
            absent_ = target;
        }
        return at;
    }

    // Like find(), but not optimized for the targets of traverse().
    [[nodiscard]] std::uint32_t position_of(PyObject* object) const noexcept {
        return object == nullptr ? kAbsent : index_.find(object);
    }

    static constexpr std::size_t kMaxObjects = (1U << 30) - 1;

  private:
    std::span<PyObject* const> objects_;
    PointerIndex index_;
    python::TypeTraversals traversals_;
    PyObject* next_ = nullptr;  // the object after the one that is traversed
    std::uint32_t next_at_ = 0;
    PyTypeObject* type_ = nullptr;  // of the object that is traversed
    std::uint32_t type_at_ = kAbsent;
    PyTypeObject* previous_type_ = nullptr;
    std::uint32_t previous_type_at_ = kAbsent;
    PyObject* absent_ = nullptr;  // the last target that is not listed
};

}  // namespace cyclewatch::collector
