// SPDX-License-Identifier: Apache-2.0
// The objects that the running collection found unreachable, as borrowed references.
//
// Lifetime: valid from CollectionListener::on_unreachable() to its return, and not a moment
// longer; nothing may keep a pointer or a reference out of it. REQUIRES: GIL held.
#pragma once

#include <Python.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "compat/gc_list.h"

namespace cyclewatch::collector {

// Finds the position of a pointer in a list of distinct pointers. Open addressing over 32-bit
// positions, at most half full: 8 to 16 bytes a pointer, whatever Python's own layout.
class PointerIndex {
  public:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;

    // May throw std::bad_alloc. The span must outlive the index.
    void build(std::span<PyObject* const> objects);
    [[nodiscard]] std::uint32_t find(PyObject* object) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }

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

    // When the walk that filled the set began: what it took is the watch's time as well.
    [[nodiscard]] std::chrono::steady_clock::time_point began() const noexcept { return began_; }

    // Room for `count` objects, so that the walk does not allocate. False if there is no memory.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        return cw_reserve_objects(&list_, count) != 0;
    }
    void clear() noexcept {
        list_.count = 0;
        index_ = {};
        has_flags_ = true;
    }

    // Fills the set from the list that `canary` is linked into. Anything but CW_WALK_COMPLETE
    // leaves it empty.
    [[nodiscard]] cw_walk_result walk(PyObject* canary) noexcept;

    // Fills the set from objects found by other means (trial deletion). May throw.
    void assign(std::span<PyObject* const> objects);

  private:
    cw_object_list list_{};  // its room is kept from one collection to the next
    std::chrono::steady_clock::time_point began_;
    bool has_flags_ = true;  // the collecting flag can be asked; otherwise index_ is
    PointerIndex index_;
};

}  // namespace cyclewatch::collector
