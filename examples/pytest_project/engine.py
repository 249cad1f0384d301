# SPDX-License-Identifier: Apache-2.0
"""An engine with a new cycle, a trainer whose cycle is in the baseline, and an acyclic loader."""

from __future__ import annotations

import torch

SIDE = 512


class Engine:
    """Registers a handler that captures the engine: the new cycle."""

    def __init__(self) -> None:
        self.weight = torch.zeros(SIDE, SIDE)
        self._handlers = [lambda batch: self.weight @ batch]

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self._handlers[0](batch)


class Trainer:
    """Stores one of its bound methods: the known cycle."""

    def __init__(self) -> None:
        self.state = torch.zeros(SIDE)
        self.on_step = self.step

    def step(self) -> int:
        return len(self.state)


class Loader:
    """Does not create a cycle."""

    def batch(self) -> torch.Tensor:
        return torch.ones(SIDE, 1)
