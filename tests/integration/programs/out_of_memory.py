# SPDX-License-Identifier: Apache-2.0
"""A training loop that runs out of address space.

Arguments: "leak" or "hold", and the size of a tensor in MiB.
"""

import gc
import resource
import sys

import torch

import cyclewatch

cyclewatch.warn_tensor_cycles(devices="cpu")


class Engine:
    """Owns a tensor; if `leaks` is true, refers to itself through its list of callbacks."""

    def __init__(self, leaks):
        self.activations = torch.empty(int(sys.argv[2]) << 20, dtype=torch.uint8)
        self.callbacks = [self.step] if leaks else []

    def step(self):
        return self.activations[:8].sum()


class History(torch.Tensor):
    """A tensor type defined by the program; its instances are kept alive in a list."""


def limit_address_space(room):
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))


def train(leaks):
    history = []
    while True:
        engine = Engine(leaks)
        engine.step()
        if not leaks:
            history.append(torch.Tensor._make_subclass(History, engine.activations))


gc.disable()
limit_address_space(1 << 30)
train(leaks=sys.argv[1] == "leak")
