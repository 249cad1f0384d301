// SPDX-License-Identifier: Apache-2.0
// The rank of this process in a distributed job. REQUIRES: GIL and StateLock held. RUNS PYTHON:
// never.
#pragma once

#include <optional>

namespace cyclewatch::watch {

struct JobRank {
    int rank = -1;        // -1: this process is not known to be a rank
    int world_size = -1;  // -1: unknown
    // A launcher such as torchrun has started the process as a rank, or torch.distributed is or was
    // initialized for several processes. Otherwise, a rank may have started the process, which
    // inherits RANK and WORLD_SIZE.
    bool has_joined = false;

    // The number of ranks of the job that the process has joined.
    [[nodiscard]] std::optional<int> joined_size() const {
        return has_joined && world_size > 0 ? std::optional(world_size) : std::nullopt;
    }
};

// The rank and the number of ranks of torch.distributed while it is initialized for several; else
// the environment variables RANK and WORLD_SIZE, or what torch.distributed said in an earlier call.
// May change while a watch is active: many programs are watched before they initialize
// torch.distributed.
[[nodiscard]] JobRank job_rank();

// Call this in a forked child: it belongs to no job until it initializes torch.distributed itself.
void leave_job();

}  // namespace cyclewatch::watch
