// SPDX-License-Identifier: Apache-2.0
// The one entry of ours in gc.callbacks, whatever the number of watches. Turns the collector's
// "start" and "stop" and the canary's callback into the steps of a CollectionListener.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <string>

#include "base/result.h"
#include "collector/collection_listener.h"
#include "collector/strategy.h"

namespace cyclewatch::collector {

struct Installed {
    Strategy strategy = Strategy::ride_along;
    std::string warning;  // why the slower strategy was taken; "" for the ride-along
};

// Appends the hook to gc.callbacks. `listener` must outlive remove(). On an interpreter that
// this build does not know, proves the ride-along first (one young collection of known garbage)
// and falls back to trial deletion if the self-test fails. The environment variable
// CYCLEWATCH_STRATEGY overrides the choice: "auto", "ride-along", "trial-deletion", "unproven"
// (as "auto" on an unknown interpreter). Throws std::bad_alloc where there is no memory for it.
// RUNS PYTHON: only the collections of the self-test.
[[nodiscard]] base::Result<Installed> install(CollectionListener& listener);

// Takes the hook out of gc.callbacks, wherever it stands by now. A collection that is under way is
// dropped.
void remove() noexcept;

// False if the program took our entry out of gc.callbacks (gc.callbacks.clear(), say).
[[nodiscard]] bool in_place() noexcept;

// Puts the entry back after in_place() said false.
void put_back() noexcept;

// True if this thread is in the midst of a collection whose end we are to see.
[[nodiscard]] bool is_under_way_here() noexcept;

// For a listener, inside one of its steps: the youngest generation's allocation count, which is
// put back at the end of the step, shall then be changed by so much. It is what a listener owes
// for a tracked object it had to leave behind: the object's end will lower the count by one.
void change_young_count(int by) noexcept;

// The strategy in use now; a broken list switches to trial deletion while running.
[[nodiscard]] Strategy strategy() noexcept;

}  // namespace cyclewatch::collector
