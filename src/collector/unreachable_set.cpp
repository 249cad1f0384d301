// SPDX-License-Identifier: Apache-2.0
#include "collector/unreachable_set.h"

#include <algorithm>
#include <bit>
#include <new>

#include "python/forced_unwind.h"

namespace cyclewatch::collector {

void PointerIndex::build(std::span<PyObject* const> objects) {
    objects_ = objects;
    const std::size_t capacity = std::bit_ceil(objects.size() * 2 + 2);
    slots_.assign(capacity, kAbsent);
    mask_ = capacity - 1;
    for (std::uint32_t position = 0; position < objects.size(); ++position) {
        std::size_t slot = slot_of(objects[position]);
        while (slots_[slot] != kAbsent) {
            slot = (slot + 1) & mask_;
        }
        slots_[slot] = position;
    }
}

std::size_t PointerIndex::slot_of(PyObject* object) const noexcept {
    // Drop the bits that are 0 for every object. Adjacent objects map to adjacent slots, which is
    // cache-friendly if objects are visited in allocation order.
    const auto address = reinterpret_cast<std::uintptr_t>(object) >> 4;
    return (address ^ (address >> 21)) & mask_;
}

std::uint32_t PointerIndex::find(PyObject* object) const noexcept {
    for (std::size_t slot = slot_of(object);; slot = (slot + 1) & mask_) {
        const std::uint32_t position = slots_[slot];
        if (position == kAbsent || objects_[position] == object) {
            return position;
        }
    }
}

cw_walk_result UnreachableSet::walk(PyObject* canary) noexcept {
    clear();
    began_ = std::chrono::steady_clock::now();
    // On free-threaded builds the walk stops the world. A thread that waits for this may be unwound
    // during finalization.
    const cw_walk_result result =
        python::sleep_if_unwound([&] { return cw_walk_unreachable(canary, &list_); });
    if (result != CW_WALK_COMPLETE) {
        clear();
    }
    return result;
}

void UnreachableSet::assign(std::span<PyObject* const> objects) {
    clear();
    began_ = std::chrono::steady_clock::now();
    if (!reserve(objects.size())) {
        throw std::bad_alloc();
    }
    std::ranges::copy(objects, list_.objects);
    list_.count = objects.size();
    index_.build(this->objects());
    has_flags_ = false;
}

}  // namespace cyclewatch::collector
