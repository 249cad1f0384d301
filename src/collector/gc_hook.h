// SPDX-License-Identifier: Apache-2.0
// cyclewatch's single entry in gc.callbacks. Translates the collector's "start" and "stop" and the
// canary's callback into calls of a CollectionListener.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "collector/collection_listener.h"

namespace cyclewatch::collector {

// The method of determining the unreachable set.
enum class Strategy : std::uint8_t {
    ride_along,  // read the collector's own list through the canary: exact and cheap
    heap_scan,   // compute it before the collector does: about as expensive as another collection
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
// choice. Its values are "auto", "ride-along", "heap-scan" and "unproven", which behaves like
// "auto" on an unknown version. RUNS PYTHON: only if it runs the test's collections.
[[nodiscard]] base::Result<Installed> install(CollectionListener& listener);

// Removes the hook from gc.callbacks. If a collection is in progress, stops observing it without
// calling on_stop().
void remove() noexcept;

// False if the program removed the hook, for example by gc.callbacks.clear().
[[nodiscard]] bool in_place() noexcept;

// Appends the hook again if it is not in place.
void put_back() noexcept;

// True if a collection that the hook observes is in progress on the calling thread.
[[nodiscard]] bool is_under_way_here() noexcept;

// A listener may call this inside one of its methods. The hook restores the youngest generation's
// allocation count at the end of the method; this function adds `by` to the count to restore.
// Needed if the listener creates tracked objects that outlive the method, because freeing them
// decrements the count.
void change_young_count(int by) noexcept;

// The current strategy. It changes to heap_scan if the collector's list turns out to be unreadable.
[[nodiscard]] Strategy strategy() noexcept;

}  // namespace cyclewatch::collector
