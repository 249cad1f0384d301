# SPDX-License-Identifier: Apache-2.0
"""Measures collections of cycles that the watch has seen before.

Each cycle consists of two objects, one of which refers to a tensor. Also measures a training loop
that leaks so many of these cycles that the watch exceeds its budget.
"""

from __future__ import annotations

import gc
import statistics
import time

from measure import Figure, in_child, main
from workloads import drop_pairs

import cyclewatch

MANY = 1_000
STEPS = 20  # between two collections


def child(rounds: int, leaks: int = 0) -> dict[str, float | list[float]]:
    import torch

    if leaks:
        return over_budget(rounds, leaks)

    def microseconds(count: int) -> float:
        """Return the median time that the watch spends in a collection of `count` cycles."""
        times = []
        for _ in range(rounds):
            drop_pairs(count, lambda: torch.empty(16))
            before = watch.stats.seconds
            gc.collect(0)
            times.append(1e6 * (watch.stats.seconds - before))
        return statistics.median(times)

    gc.collect()
    gc.disable()
    with cyclewatch.watch(devices=("cpu",), budget=1.0) as watch:
        one, many = microseconds(1), microseconds(MANY)
    return {"one": one, "further": (many - one) / (MANY - 1)}


def over_budget(rounds: int, leaks: int) -> dict[str, float | list[float]]:
    """Compare steps in which the watch searches the garbage with steps in which it does not."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(64, 256), torch.randint(10, (64,))

    def timed_steps() -> tuple[bool, float]:
        """Return whether the watch searched the garbage, and the CPU time of all steps."""
        owners = watch.stats.owners
        began = time.thread_time()
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            drop_pairs(leaks, lambda: torch.empty(16))
        gc.collect(0)
        took = time.thread_time() - began
        return watch.stats.owners > owners, took

    gc.collect()
    gc.freeze()
    gc.disable()
    with cyclewatch.watch(devices=("cpu",)) as watch:
        while timed_steps()[0]:
            pass  # until the watch has used up the time that is always allowed
        before = watch.stats
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(rounds):
            searched, took = timed_steps()
            times[searched].append(took)
        after = watch.stats
    share = (after.seconds - before.seconds) / (after.elapsed - before.elapsed)
    without = statistics.median(times[False])
    added = (statistics.median(times[True]) - without) * len(times[True]) / rounds
    return {"share": 100 * share, "ratio": 1 + added / without}


def measure(quick: bool) -> list[Figure]:
    answers = [in_child(__file__, rounds=9 if quick else 61) for _ in range(1 if quick else 5)]
    one = [float(answer["one"]) for answer in answers if not isinstance(answer["one"], list)]
    further = [
        float(answer["further"]) for answer in answers if not isinstance(answer["further"], list)
    ]
    answer = in_child(__file__, rounds=200 if quick else 1_000, leaks=100)
    share, ratio = answer["share"], answer["ratio"]
    assert isinstance(share, float) and isinstance(ratio, float)
    what = "training, 100 leaked tensors per step, over budget"
    return [
        Figure(f"{what}: share of wall time in the watch", "%", [share], 1.1),
        Figure(f"{what}: with / without, CPU time", "ratio", [ratio], 1.02),
        Figure("a collection of one known cycle with one tensor", "us", one, 20),
        Figure("each further cycle", "us", further, 0.4),
    ]


if __name__ == "__main__":
    main(measure, child)
