# SPDX-License-Identifier: Apache-2.0
"""One rank of a job: prints the steps at which collect_at() collected garbage.

Arguments: rank, number of ranks, rendezvous file, backend, group ("default" or "gloo"), step at
which rank 1 leaks (0: never).
"""

import json
import sys

import torch
import torch.distributed as dist

import cyclewatch

RANK, RANKS, LEAK_STEP = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[6])
RENDEZVOUS, BACKEND, GROUP = sys.argv[3:6]


def leak():
    node = [torch.zeros(8)]
    node.append(node)


dist.init_process_group(BACKEND, init_method=f"file://{RENDEZVOUS}", rank=RANK, world_size=RANKS)
gloo = dist.new_group(backend="gloo")
group = gloo if GROUP == "gloo" else None
collected = []
with cyclewatch.collect_at(every=2, skip_if_clean=True, group=group) as collector:
    for step in range(1, 9):
        if RANK == 1 and step == LEAK_STEP:
            leak()
        if collector.run(step):
            collected.append(step)
print(json.dumps(collected))
dist.barrier(group=gloo)  # the other ranks may still be connecting
dist.destroy_process_group()
