// SPDX-License-Identifier: Apache-2.0
// The objects that the running collection found unreachable, as borrowed references.
//
// Valid only during CollectionListener::on_unreachable(). Pointers and references must not be kept
// after it returns. REQUIRES: GIL held.
#pragma once

#include <Python.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "compat/gc_list.h"

namespace cyclewatch::collector {

// Maps the pointers of a list without duplicates to their positions. Open addressing with 32-bit
// entries, at most half full: 8 to 16 bytes per pointer.
class PointerIndex {
  public:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;

    // May throw std::bad_alloc. The span must outlive the index.
    void build(std::span<PyObject* const> objects);
    // kAbsent if `object` is not in the list.
    [[nodiscard]] std::uint32_t find(PyObject* object) const noexcept;

  private:
    [[nodiscard]] std::size_t slot_of(PyObject* object) const noexcept;
    std::span<PyObject* const> objects_;
    std::vector<std::uint32_t> slots_;
    std::size_t mask_ = 0;
};

class UnreachableSet {
  public:
    UnreachableSet() = default;
    UnreachableSet(const UnreachableSet&) = delete;
    UnreachableSet& operator=(const UnreachableSet&) = delete;
    ~UnreachableSet() { cw_free_objects(&list_); }

    [[nodiscard]] std::span<PyObject* const> objects() const noexcept {
        return {list_.objects, list_.count};
    }

    // REQUIRES: PyObject_IS_GC(object).
    [[nodiscard]] bool contains(PyObject* object) const noexcept {
        return has_flags_ ? cw_is_unreachable(object) != 0
                          : index_.find(object) != PointerIndex::kAbsent;
    }

    // True if cw_is_unreachable() of each object with a GC header tells whether the set contains
    // it.
    [[nodiscard]] bool has_flags() const noexcept { return has_flags_; }

    // Start time of filling the set, which counts towards the watch's budget.
    [[nodiscard]] std::chrono::steady_clock::time_point began() const noexcept { return began_; }

    // Reserves room for `count` objects, so that walk() need not allocate. Returns false if out of
    // memory.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        return cw_reserve_objects(&list_, count) != 0;
    }
    void clear() noexcept {
        list_.count = 0;
        index_ = {};
        has_flags_ = true;
    }

    // Fills the set from the collector's list that contains `canary`. The set is empty unless the
    // result is CW_WALK_COMPLETE.
    [[nodiscard]] cw_walk_result walk(PyObject* canary) noexcept;

    // Fills the set with objects found by a heap scan. May throw std::bad_alloc.
    void assign(std::span<PyObject* const> objects);

  private:
    cw_object_list list_{};  // keeps its capacity between collections
    std::chrono::steady_clock::time_point began_;
    bool has_flags_ = true;  // contains() reads the collecting flag; otherwise index_
    PointerIndex index_;
};

}  // namespace cyclewatch::collector
