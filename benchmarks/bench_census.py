# SPDX-License-Identifier: Apache-2.0
"""Measures why_alive(), live_owners() and census() on a large heap.

The heap is a chain of instances, each with a list. A thousand of these instances also refer to a
memory owner.
"""

from __future__ import annotations

import gc

from bench_scan import OBJECTS, extra_bytes, heap_of
from measure import Figure, cost_figures, cpu_samples, in_child, main

import cyclewatch

OWNERS = 1000


class Buffer:
    """A memory owner."""


def child(name: str, rounds: int) -> dict[str, float | list[float]]:
    gc.disable()
    cyclewatch.register_owner(Buffer, lambda _: {"device": "cpu", "nbytes": 4096})
    nodes = heap_of(OBJECTS)
    for node in nodes[:: len(nodes) // OWNERS]:
        node.buffer = Buffer()
    functions = {
        "why_alive": lambda: cyclewatch.why_alive(nodes[-1].items),
        "live_owners": lambda: cyclewatch.live_owners(min_bytes=0),
        "census": cyclewatch.census,
    }
    extra = extra_bytes(functions[name]) / len(gc.get_objects())
    return {"extra": [extra], "seconds": cpu_samples(functions[name], rounds)}


def measure(quick: bool) -> list[Figure]:
    figures = []
    for name in ("why_alive", "live_owners", "census"):
        answer = in_child(__file__, name=name, rounds=3 if quick else 11)
        figures += cost_figures(f"{name}(), {OBJECTS:,} objects", answer, 0.6, 48)
    return figures


if __name__ == "__main__":
    main(measure, child)
