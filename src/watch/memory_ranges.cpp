// SPDX-License-Identifier: Apache-2.0
#include "watch/memory_ranges.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace cyclewatch::watch {
namespace {

// A set of addresses on a device.
class AddressSet {
  public:
    // Adds the addresses [start, end), and returns how many of them are new.
    std::uint64_t add(std::uint64_t start, std::uint64_t end) {
        std::uint64_t added = end - start;
        auto at = ranges_.upper_bound(start);
        if (at != ranges_.begin() && std::prev(at)->second >= start) {
            --at;
        }
        std::uint64_t first = start;
        std::uint64_t last = end;
        while (at != ranges_.end() && at->first <= end) {
            added -= overlap(start, end, at->first, at->second);
            first = std::min(first, at->first);
            last = std::max(last, at->second);
            at = ranges_.erase(at);
        }
        ranges_.emplace(first, last);
        return added;
    }

  private:
    static std::uint64_t overlap(std::uint64_t start,
                                 std::uint64_t end,
                                 std::uint64_t other_start,
                                 std::uint64_t other_end) {
        const std::uint64_t first = std::max(start, other_start);
        const std::uint64_t last = std::min(end, other_end);
        return last > first ? last - first : 0;
    }

    std::map<std::uint64_t, std::uint64_t> ranges_;  // start and end; disjoint
};

// `ranges` overlap, directly or through each other.
void divide(std::span<MemoryRange* const> ranges, std::vector<std::size_t>& changed) {
    std::vector<MemoryRange*> ordered(ranges.begin(), ranges.end());
    std::ranges::sort(ordered, [](const MemoryRange* a, const MemoryRange* b) {
        return std::tuple(!a->has_tensor, b->bytes, a->storage) <
               std::tuple(!b->has_tensor, a->bytes, b->storage);
    });
    AddressSet counted;
    for (MemoryRange* const each : ordered) {
        const std::uint64_t bytes = counted.add(each->start, each->start + each->bytes);
        if (bytes != each->bytes) {
            each->bytes = bytes;
            changed.push_back(each->storage);
        }
    }
}

}  // namespace

std::vector<std::size_t> count_once(std::span<MemoryRange> ranges) {
    std::vector<MemoryRange*> sorted;
    for (MemoryRange& each : ranges) {
        if (each.bytes > 0 && each.bytes <= UINT64_MAX - each.start) {
            sorted.push_back(&each);
        }
    }
    std::ranges::sort(sorted, [](const MemoryRange* a, const MemoryRange* b) {
        return std::tie(*a->device, a->start) < std::tie(*b->device, b->start);
    });
    std::vector<std::size_t> changed;
    for (std::size_t first = 0; first < sorted.size();) {
        std::uint64_t end = sorted[first]->start + sorted[first]->bytes;
        std::size_t next = first + 1;
        for (; next < sorted.size() && *sorted[next]->device == *sorted[first]->device &&
               sorted[next]->start < end;
             ++next) {
            end = std::max(end, sorted[next]->start + sorted[next]->bytes);
        }
        if (next > first + 1) {
            divide(std::span(sorted).subspan(first, next - first), changed);
        }
        first = next;
    }
    return changed;
}

}  // namespace cyclewatch::watch
