// SPDX-License-Identifier: Apache-2.0
// cyclewatch's single entry in gc.callbacks. Translates the collector's "start" and "stop" events
// and the canary's weakref callback into calls to a CollectionListener.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "collector/collection_listener.h"

namespace cyclewatch::collector {

// The method used to determine the unreachable set.
enum class Strategy : std::uint8_t {
    ride_along,  // read the collector's own list through the canary: exact and cheap
    heap_scan,   // compute the set before the collector does: about the cost of a collection
};

[[nodiscard]] constexpr const char* strategy_name(Strategy strategy) noexcept {
    return strategy == Strategy::ride_along ? "ride-along" : "heap-scan";
}

struct Installed {
    Strategy strategy = Strategy::ride_along;
    std::string warning;  // why the heap is scanned; "" for the ride-along
};

// Appends the hook to gc.callbacks. `listener` must outlive remove(). On an unknown CPython
// version, first tests the strategy `ride_along` with two young collections, and falls back to
// scanning the heap if the test fails. The environment variable CYCLEWATCH_STRATEGY overrides the
// choice. Its values are "auto", "ride-along" and "heap-scan". RUNS PYTHON: only if it tests
// `ride_along`, which runs collections.
[[nodiscard]] base::Result<Installed> install(CollectionListener& listener);

// Removes the hook from gc.callbacks. If a collection is in progress, stops observing it without
// calling on_stop().
void remove() noexcept;

// False if the program removed the hook, for example by gc.callbacks.clear().
[[nodiscard]] bool in_place() noexcept;

// Appends the hook to gc.callbacks unless it is already there.
void put_back() noexcept;

// True if a collection that the hook observes is in progress on the calling thread.
[[nodiscard]] bool is_under_way_here() noexcept;

// A listener may call this inside one of its methods. The hook restores the youngest generation's
// allocation count when the method returns; this function adds `by` to the count that the hook will
// restore. Needed if the listener creates tracked objects that outlive the method, because freeing
// them decrements the count.
void change_young_count(int by) noexcept;

// The current strategy. The hook switches to heap_scan if the collector's list turns out to be
// unreadable.
[[nodiscard]] Strategy strategy() noexcept;

}  // namespace cyclewatch::collector
