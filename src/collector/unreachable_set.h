// SPDX-License-Identifier: Apache-2.0
// The objects that the running collection found unreachable, as borrowed references.
//
// Valid only during CollectionListener::on_unreachable(). Pointers and references into the set are
// invalid after on_unreachable() returns. REQUIRES: GIL held.
#pragma once

#include <Python.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "collector/hidden_references.h"
#include "compat/gc_list.h"

namespace cyclewatch::collector {

// Maps each pointer in a list without duplicates to its position. Implemented as a page table
// indexed by address, with 4 bytes for each 32 bytes of every page that contains an object. Tracked
// objects are at least 32 bytes apart and aligned to 16 bytes; objects that violate this are stored
// in a hash table.
class PointerIndex {
  public:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;

    // Reuses the memory of the previous list. May throw std::bad_alloc.
    void build(std::span<PyObject* const> objects);

    // Returns kAbsent if `object` is not in the list.
    [[nodiscard]] std::uint32_t find(PyObject* object) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(object);
        const std::uint32_t page = cached_page_of(address);
        if (page != kNone) {
            const std::uint32_t entry = entries_[slot_in(page, address)];
            if (entry != kAbsent && (entry & 1U) == half_of(address) && is_aligned(address)) {
                return entry >> 1U;
            }
        }
        return others_.empty() ? kAbsent : find_other(object);
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr unsigned kUnitBits = 5;    // of 32 bytes
    static constexpr unsigned kPageBits = 12;   // of 4 KiB
    static constexpr unsigned kChunkBits = 20;  // of 1 MiB
    static constexpr std::size_t kUnits = std::size_t{1} << (kPageBits - kUnitBits);
    static constexpr std::size_t kPages = std::size_t{1} << (kChunkBits - kPageBits);

    // A chunk of the address space that contains at least one object.
    struct Chunk {
        std::uintptr_t number = 0;  // address >> kChunkBits; 0: unused
        std::size_t first = 0;      // index of its pages in pages_
    };

    static bool is_aligned(std::uintptr_t address) noexcept { return (address & 15U) == 0; }
    // 1 if the object starts in the second half of its 32-byte unit, otherwise 0.
    static std::uint32_t half_of(std::uintptr_t address) noexcept {
        return static_cast<std::uint32_t>(address >> 4U) & 1U;
    }
    static std::size_t slot_in(std::uint32_t page, std::uintptr_t address) noexcept {
        return page * kUnits + ((address >> kUnitBits) & (kUnits - 1));
    }
    [[nodiscard]] std::size_t slot_of_chunk(std::uintptr_t number) const noexcept {
        return (number ^ (number >> 9U)) & (chunks_.size() - 1);
    }
    // The number of the page that contains the address; kNone if the page contains no object.
    [[nodiscard]] std::uint32_t page_of(std::uintptr_t address) const noexcept {
        const std::uintptr_t number = address >> kChunkBits;
        if (number == 0 || chunks_.empty()) {
            return kNone;
        }
        for (std::size_t slot = slot_of_chunk(number);; slot = (slot + 1) & (chunks_.size() - 1)) {
            const Chunk& chunk = chunks_[slot];
            if (chunk.number == number) {
                return pages_[chunk.first + ((address >> kPageBits) & (kPages - 1))];
            }
            if (chunk.number == 0) {
                return kNone;
            }
        }
    }
    // Like page_of(), but caches the latest page, because consecutive lookups are usually on the
    // same page.
    [[nodiscard]] std::uint32_t cached_page_of(std::uintptr_t address) const noexcept {
        if (address >> kPageBits != latest_number_) {
            latest_number_ = address >> kPageBits;
            latest_page_ = page_of(address);
        }
        return latest_page_;
    }
    Chunk& add_chunk(std::uintptr_t number);
    void grow_chunks();
    std::uint32_t count_pages(std::span<PyObject* const> objects);
    [[nodiscard]] std::uint32_t find_other(PyObject* object) const noexcept;

    std::vector<Chunk> chunks_;  // open addressing, at most half full
    std::size_t used_chunks_ = 0;
    std::vector<std::uint32_t> pages_;    // number of each page of the chunks; kNone: no object
    std::vector<std::uint32_t> entries_;  // by page and unit: 2 * position + half; kAbsent: none
    std::unordered_map<PyObject*, std::uint32_t> others_;
    mutable std::uintptr_t latest_number_ = 0;  // address >> kPageBits of the last lookup
    mutable std::uint32_t latest_page_ = kNone;
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

    // References between objects of the set that tp_traverse does not visit; null if there are
    // none. They must outlive the set.
    [[nodiscard]] const HiddenReferences* hidden() const noexcept { return hidden_; }
    void set_hidden(const HiddenReferences* hidden) noexcept { hidden_ = hidden; }

    // REQUIRES: PyObject_IS_GC(object), if has_flags().
    [[nodiscard]] bool contains(PyObject* object) const noexcept {
        return has_flags_ ? cw_is_unreachable(object) != 0
                          : index_.find(object) != PointerIndex::kAbsent;
    }

    // True if the set contains exactly the objects for which cw_is_unreachable() is true.
    [[nodiscard]] bool has_flags() const noexcept { return has_flags_; }

    // The time at which filling the set began. Filling the set counts towards the watch's budget.
    [[nodiscard]] std::chrono::steady_clock::time_point began() const noexcept { return began_; }

    // Reserves memory for `count` objects, so that walk() need not allocate. Returns false if out
    // of memory.
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
    const HiddenReferences* hidden_ = nullptr;
};

}  // namespace cyclewatch::collector
