// SPDX-License-Identifier: Apache-2.0
// The rank of this process in a distributed job. REQUIRES: GIL and StateLock held. RUNS PYTHON:
// never.
#pragma once

namespace cyclewatch::watch {

struct JobRank {
    int rank = -1;        // -1: this process is not known to be a rank
    int world_size = -1;  // -1: unknown
};

// The rank and the number of ranks of torch.distributed while it is initialized for several; else
// the environment variables RANK and WORLD_SIZE, or what torch.distributed last said. May change
// while a watch is active: many programs are watched before they initialize torch.distributed.
[[nodiscard]] JobRank job_rank();

}  // namespace cyclewatch::watch
