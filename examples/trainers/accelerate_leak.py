# SPDX-License-Identifier: Apache-2.0
"""A loop with Accelerate that leaves a reference cycle behind, and the card about it.

Needs the package accelerate. Example: python examples/trainers/accelerate_leak.py
"""

import logging

import accelerate
import torch

from cyclewatch.integrations.accelerate import CycleWatch


class Probe:
    """Stores a closure that captures the probe itself."""

    def __init__(self, weight):
        self.weight = weight
        self.seen = lambda batch: batch + self.weight


def main():
    """Train; the watch logs the card at level INFO."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("cyclewatch").setLevel(logging.INFO)
    accelerator = accelerate.Accelerator(cpu=True)
    layer = torch.nn.Linear(8, 1)
    layer, optimizer = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    with CycleWatch(accelerator) as watch:
        for step in range(1, 21):
            probe = Probe(torch.ones(2, 8))
            accelerator.backward(layer(probe.seen(torch.ones(2, 8))).mean())
            optimizer.step()
            optimizer.zero_grad()
            watch.step(step)


if __name__ == "__main__":
    main()
