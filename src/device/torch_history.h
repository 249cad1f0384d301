// SPDX-License-Identifier: Apache-2.0
// Where memory that a collection freed had been allocated, as torch recorded it
// (torch.cuda.memory._record_memory_history()). docs/design/devices.md says why it is asked the
// way it is.
//
// REQUIRES (everything here): GIL held, no collection under way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/call_site.h"
#include "device/memory_events.h"

namespace cyclewatch::device {

// True while torch records what it allocates. `device` is one whose memory somebody owned: where
// torch has not used it, torch is not asked, nor in a forked child. Leaves no Python error.
// RUNS PYTHON: never; two C functions of torch at most.
[[nodiscard]] bool torch_records_history(int device) noexcept;

struct HistoryReading {
    // Of each storage that was asked for; without a path where the history does not tell.
    std::vector<base::CallSite> sites;
    std::string failure;       // why nothing could be read, in words; "" if it could
    bool interrupted = false;  // KeyboardInterrupt or SystemExit is pending: to be passed on
};

// Looks `storages` up in one snapshot of torch's history, which it records. May take long: torch
// makes a dict of each event that it recorded, and imports what it names their places with. RUNS
// PYTHON: yes, torch's. Leaves no Python error but an interrupt. May throw std::bad_alloc.
[[nodiscard]] HistoryReading read_torch_history(std::span<const CollectedStorage> storages);

}  // namespace cyclewatch::device
