// SPDX-License-Identifier: Apache-2.0
#include "device/memory_events.h"

namespace cyclewatch::device {
namespace {

// One tenant of an address; `end` is null if it was there to the last.
bool may_have_been(const CollectedStorage& storage,
                   const MemoryEvent& begin,
                   const MemoryEvent* end) {
    if (begin.bytes != storage.bytes ||
        begin.microseconds > storage.unreachable.microseconds + kStampError) {
        return false;
    }
    if (!storage.released) {
        return end == nullptr || end->microseconds >= storage.settled.microseconds - kStampError;
    }
    return end != nullptr && end->microseconds >= storage.unreachable.microseconds - kStampError &&
           end->microseconds <= storage.settled.microseconds + kStampError;
}

}  // namespace

std::optional<std::size_t> allocation_of(const CollectedStorage& storage,
                                         std::span<const MemoryEvent> events) {
    std::optional<std::size_t> found;
    std::optional<std::size_t> open;
    const auto close = [&](const MemoryEvent* end) {
        const bool fits = open && may_have_been(storage, events[*open], end);
        const bool second = fits && found;
        found = fits ? open : found;
        open.reset();
        return !second;
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind == MemoryEvent::Kind::freed) {
            if (!close(&events[i])) {
                return std::nullopt;
            }
        } else {
            open = i;  // over one whose end was not recorded: nobody knows when it went
        }
    }
    return close(nullptr) ? found : std::nullopt;
}

}  // namespace cyclewatch::device
