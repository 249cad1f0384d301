// SPDX-License-Identifier: Apache-2.0
#include "collector/unreachable_set.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/populate.h"
#include "python/forced_unwind.h"

namespace cyclewatch::collector {

void PointerIndex::grow_chunks() {
    const std::vector<Chunk> before =
        std::exchange(chunks_, std::vector<Chunk>(std::max<std::size_t>(chunks_.size() * 2, 16)));
    for (const Chunk& chunk : before) {
        if (chunk.number != 0) {
            std::size_t slot = slot_of_chunk(chunk.number);
            while (chunks_[slot].number != 0) {
                slot = (slot + 1) & (chunks_.size() - 1);
            }
            chunks_[slot] = chunk;
        }
    }
}

PointerIndex::Chunk& PointerIndex::add_chunk(std::uintptr_t number) {
    if ((used_chunks_ + 1) * 2 > chunks_.size()) {
        grow_chunks();
    }
    std::size_t slot = slot_of_chunk(number);
    while (chunks_[slot].number != number) {
        if (chunks_[slot].number == 0) {
            const std::size_t first = pages_.size();
            pages_.resize(first + kPages, kNone);
            chunks_[slot] = {number, first};
            ++used_chunks_;
            break;
        }
        slot = (slot + 1) & (chunks_.size() - 1);
    }
    return chunks_[slot];
}

// Assigns a number to each page that contains an object, in the order of the list. The pages are
// counted before their entries are allocated, because growing a vector would double the peak memory
// use.
std::uint32_t PointerIndex::count_pages(std::span<PyObject* const> objects) {
    std::uint32_t count = 0;
    std::uintptr_t latest = 0;
    for (PyObject* const object : objects) {
        const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(object) >> kPageBits;
        if (number == latest || number >> (kChunkBits - kPageBits) == 0) {
            continue;
        }
        latest = number;
        if (page_of(number << kPageBits) == kNone) {
            const Chunk& chunk = add_chunk(number >> (kChunkBits - kPageBits));
            pages_[chunk.first + (number & (kPages - 1))] = count++;
        }
    }
    return count;
}

void PointerIndex::build(std::span<PyObject* const> objects) {
    std::ranges::fill(chunks_, Chunk{});
    used_chunks_ = 0;
    pages_.clear();
    others_.clear();
    latest_number_ = 0;
    latest_page_ = kNone;
    const std::size_t entries = count_pages(objects) * kUnits;
    entries_.clear();
    base::reserve_pages(entries_, entries);
    entries_.assign(entries, kAbsent);
    for (std::uint32_t position = 0; position < objects.size(); ++position) {
        const auto address = reinterpret_cast<std::uintptr_t>(objects[position]);
        const std::uint32_t page = cached_page_of(address);
        std::uint32_t* const entry = page == kNone ? nullptr : &entries_[slot_in(page, address)];
        if (entry != nullptr && *entry == kAbsent && is_aligned(address)) {
            *entry = position << 1U | half_of(address);
        } else {
            others_.emplace(objects[position], position);
        }
    }
}

std::uint32_t PointerIndex::find_other(PyObject* object) const noexcept {
    const auto found = others_.find(object);
    return found == others_.end() ? kAbsent : found->second;
}

cw_walk_result UnreachableSet::walk(PyObject* canary) noexcept {
    clear();
    began_ = std::chrono::steady_clock::now();
    // On free-threaded builds, the walk stops the world. If the interpreter is finalized while this
    // thread waits for other threads to stop, this thread may be unwound.
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
