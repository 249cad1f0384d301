# SPDX-License-Identifier: Apache-2.0
"""A loop with the replacement of torchtitan's GarbageCollection, and the card about its leak.

Needs only torch. Example: python examples/trainers/torchtitan_leak.py
"""

import logging

import torch

from cyclewatch.integrations.torchtitan import GarbageCollection


class Probe:
    """Stores a closure that captures the probe itself."""

    def __init__(self, weight):
        self.weight = weight
        self.seen = lambda batch: batch + self.weight


def main():
    """Train; the watch logs the card at level INFO."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("cyclewatch").setLevel(logging.INFO)
    layer = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    collector = GarbageCollection(gc_freq=10)
    for step in range(1, 21):
        collector.run(step)
        probe = Probe(layer.weight.detach().clone())
        layer(probe.seen(torch.ones(2, 8))).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    collector.close()


if __name__ == "__main__":
    main()
