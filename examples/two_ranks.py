# SPDX-License-Identifier: Apache-2.0
"""Two ranks that train with DistributedDataParallel; only rank 1 leaves reference cycles behind.

Rank 0 writes the merged report of both into the folder reports when it exits.
Example: torchrun --nproc-per-node=2 examples/two_ranks.py
"""

import torch
import torch.distributed

import cyclewatch


class Probe:
    """Stores a closure that captures the probe itself."""

    def __init__(self, weight):
        self.weight = weight
        self.seen = lambda batch: batch + self.weight[0]


def main():
    """Train for 20 steps; rank 1 makes a probe of its own in each of them."""
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir="reports", gather=30, budget=1)
    collector = cyclewatch.collect_at(every=5)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.ones(8, 64)
    for step in range(1, 21):
        inputs = Probe(torch.ones(4096, 64)).seen(batch) if rank == 1 else batch
        model(inputs).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        watch.step(step)
        collector.run(step)
    collector.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
