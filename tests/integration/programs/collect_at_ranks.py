# SPDX-License-Identifier: Apache-2.0
"""One rank of a job: prints the steps at which collect_at() collected garbage.

Arguments: rank, number of ranks, rendezvous file, backend, group ("default" or "gloo"), step at
which rank 1 leaks (0: never), and optionally "pressure" or "dead_bytes": then all other collections
are off.
"""

import json
import sys

import torch
import torch.distributed as dist

import cyclewatch
from cyclewatch.steps import periodic_collection

RANK, RANKS, LEAK_STEP = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[6])
RENDEZVOUS, BACKEND, GROUP = sys.argv[3:6]
TRIGGER = sys.argv[7] if len(sys.argv) > 7 else ""
SETTINGS = {
    "": {"every": 2, "skip_if_clean": True},
    "pressure": {"every": 1000, "pressure": 0.9},
    "dead_bytes": {"every": 1000, "dead_bytes": 32},
}


def leak():
    node = [torch.zeros(8)]
    node.append(node)
    if TRIGGER == "pressure":
        shares.append(0.95)


shares = [0.5]
periodic_collection.used_share = lambda: shares.pop() if len(shares) > 1 else shares[0]

dist.init_process_group(BACKEND, init_method=f"file://{RENDEZVOUS}", rank=RANK, world_size=RANKS)
gloo = dist.new_group(backend="gloo")
group = gloo if GROUP == "gloo" else None
collected = []
with cyclewatch.collect_at(**SETTINGS[TRIGGER], group=group) as collector:
    for step in range(1, 9):
        if RANK == 1 and step == LEAK_STEP:
            leak()
        if collector.run(step):
            collected.append(step)
print(json.dumps(collected))
dist.barrier(group=gloo)  # the other ranks may still be connecting
dist.destroy_process_group()
