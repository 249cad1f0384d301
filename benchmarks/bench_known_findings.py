# SPDX-License-Identifier: Apache-2.0
"""Measures collections whose garbage has a known shape: cycles of two objects with a tensor."""

from __future__ import annotations

import gc
import statistics

from measure import Figure, in_child, main
from workloads import drop_pairs

import cyclewatch

MANY = 1_000


def child(rounds: int) -> dict[str, float | list[float]]:
    import torch

    def microseconds(count: int) -> float:
        """Return the median time in the watch of a collection of `count` cycles."""
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


def measure(quick: bool) -> list[Figure]:
    answers = [in_child(__file__, rounds=9 if quick else 61) for _ in range(1 if quick else 5)]
    one = [float(answer["one"]) for answer in answers if not isinstance(answer["one"], list)]
    further = [
        float(answer["further"]) for answer in answers if not isinstance(answer["further"], list)
    ]
    return [
        Figure("a collection of one known cycle with one tensor", "us", one, 20),
        Figure("each further cycle", "us", further, 0.4),
    ]


if __name__ == "__main__":
    main(measure, child)
