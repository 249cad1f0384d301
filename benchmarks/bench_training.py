# SPDX-License-Identifier: Apache-2.0
"""Measures a small training loop on the CPU with automatic collection, with and without a watch."""

from __future__ import annotations

from measure import Figure, in_child, main, paired_ratios, seconds_of

import cyclewatch


class Step:
    """A record of one training step; the program keeps all records in a list."""

    def __init__(self, number: int, loss: float) -> None:
        self.number = number
        self.loss = loss


def child(steps: int, rounds: int) -> dict[str, float | list[float]]:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(64, 64), torch.randint(10, (64,))
    history: list[Step] = []

    def train() -> None:
        history.clear()
        for step in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            history.append(Step(step, loss.item()))

    shares: list[float] = []
    collections: list[float] = []

    def on() -> float:
        with cyclewatch.watch(devices=("cpu",)) as watch:
            elapsed = seconds_of(train)
            stats = watch.stats
        shares.append(100 * stats.seconds / stats.elapsed)
        collections.append(stats.collections)
        return elapsed

    ratios = paired_ratios(on, lambda: seconds_of(train), rounds)
    return {"ratios": ratios, "shares": shares[1:], "collections": collections[1:]}


def measure(quick: bool) -> list[Figure]:
    answer = in_child(__file__, steps=1_000 if quick else 4_000, rounds=3 if quick else 9)
    ratios, shares, collections = answer["ratios"], answer["shares"], answer["collections"]
    assert isinstance(ratios, list) and isinstance(shares, list) and isinstance(collections, list)
    return [
        Figure("training an MLP: share of wall time in the watch", "%", shares, 0.5),
        Figure("training an MLP: with / without", "ratio", ratios),
        Figure("training an MLP: collections per round", "count", collections),
    ]


if __name__ == "__main__":
    main(measure, child)
