# SPDX-License-Identifier: Apache-2.0
"""Measures how capture and analysis scale with garbage size, and the cost of a dense component.

Growth is the slope of log(seconds) against log(objects) between two sizes: 1 means linear, 2 means
quadratic. The dense component has 10,000 objects, each with references to five random objects.
"""

from __future__ import annotations

import gc
import logging
import math
import random

from measure import Figure, in_child, main
from workloads import Block, drop_rings, read_block

import cyclewatch


class DenseNode:
    """One of many objects that refer to each other."""

    __slots__ = ("__weakref__", "a", "b", "c", "d", "e", "payload")


def drop_dense_component(size: int) -> None:
    pick = random.Random(1)
    nodes = [DenseNode() for _ in range(size)]
    for one, other in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        one.a = other
        for name in "bcde":
            setattr(one, name, pick.choice(nodes))
    nodes[0].payload = Block(4096)


def child(objects: int, dense: bool) -> dict[str, float | list[float]]:
    """Return how many seconds the watch spends in a collection of `objects` objects."""
    gc.disable()
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    cyclewatch.register_owner(Block, read_block)
    gc.collect()
    with cyclewatch.watch(devices=("cpu",), budget=1.0) as watch:
        if dense:
            drop_dense_component(objects)
        else:
            drop_rings(objects // 1000, 1000, lambda number: Block(4096 * number), tied=False)
        gc.collect()
        if not watch.report().findings:
            raise AssertionError("nothing was found")
        return {"seconds": watch.stats.seconds}


def seconds(objects: int, dense: bool = False) -> float:
    answer = in_child(__file__, objects=objects, dense=dense)["seconds"]
    assert isinstance(answer, float)
    return answer


def measure(quick: bool) -> list[Figure]:
    sizes = [2_000, 4_000, 8_000] if quick else [10_000, 100_000, 1_000_000]
    rounds = 2 if quick else 5
    times = {size: [seconds(size) for _ in range(rounds)] for size in sizes}
    figures = [
        Figure(
            f"{size:,} unreachable objects: capture and analysis", "ms", [1e3 * t for t in taken]
        )
        for size, taken in times.items()
    ]
    for small, large in zip(sizes, sizes[1:], strict=False):
        slopes = [
            math.log(after / before) / math.log(large / small)
            for before, after in zip(times[small], times[large], strict=True)
        ]
        figures.append(Figure(f"growth from {small:,} to {large:,}", "slope", slopes, 1.2))
    size = 1_000 if quick else 10_000
    times_dense = [1e3 * seconds(size, dense=True) for _ in range(rounds)]
    what = f"dense component, {size:,} objects, {5 * size:,} references: capture and analysis"
    return [*figures, Figure(what, "ms", times_dense, None if quick else 50)]


if __name__ == "__main__":
    main(measure, child)
