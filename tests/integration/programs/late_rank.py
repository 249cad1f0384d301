# SPDX-License-Identifier: Apache-2.0
"""Initializes torch.distributed after the watch has started; test_distributed.py runs it.

Arguments: the rank and the number of ranks. Prints both before that, afterwards, and after the
process group has been destroyed.
"""

import gc
import sys

import torch
import torch.distributed as dist
import torch.testing._internal.distributed.fake_pg  # noqa: F401 - registers the backend

from cyclewatch.watching.watches import active_watch


def known():
    [process] = active_watch().report().processes
    return [process.rank, process.world_size]


places = [known()]
dist.init_process_group(
    "fake", store=dist.HashStore(), rank=int(sys.argv[1]), world_size=int(sys.argv[2])
)
places.append(known())
cycle = [torch.zeros(256)]
cycle.append(cycle)
del cycle
gc.collect()
dist.destroy_process_group()
places.append(known())
print(*places)
