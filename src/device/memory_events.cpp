// SPDX-License-Identifier: Apache-2.0
#include "device/memory_events.h"

namespace cyclewatch::device {
namespace {

// `freed` is null if the allocation was never freed.
bool matches(const CollectedStorage& storage,
             const MemoryEvent& allocated,
             const MemoryEvent* freed) {
    const std::int64_t begin = storage.unreachable.microseconds - kTimestampError;
    const std::int64_t end = storage.settled.microseconds + kTimestampError;
    if (allocated.bytes != storage.bytes ||
        allocated.microseconds > storage.unreachable.microseconds + kTimestampError) {
        return false;
    }
    if (!storage.released) {
        return freed == nullptr ||
               freed->microseconds >= storage.settled.microseconds - kTimestampError;
    }
    return freed != nullptr && freed->microseconds >= begin && freed->microseconds <= end;
}

}  // namespace

std::optional<std::size_t> allocation_of(const CollectedStorage& storage,
                                         std::span<const MemoryEvent> events) {
    std::optional<std::size_t> found;
    std::optional<std::size_t> open;  // the allocation that has not been freed yet
    bool ambiguous = false;
    const auto close = [&](const MemoryEvent* freed) {
        if (open && matches(storage, events[*open], freed)) {
            ambiguous = ambiguous || found.has_value();
            found = open;
        }
        open.reset();
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind == MemoryEvent::Kind::freed) {
            close(&events[i]);
        } else {
            open = i;  // drops an open allocation, because the time of its free is unknown
        }
    }
    close(nullptr);
    return ambiguous ? std::nullopt : found;
}

}  // namespace cyclewatch::device
