# SPDX-License-Identifier: Apache-2.0
"""Compares the durations of heap scans and of the collections that they replace."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

from measure import Figure, in_child, main, paired_ratios, seconds_of

import cyclewatch

OBJECTS = 400_000
YOUNG = 2_000


class Node:
    """An instance with a dict, a list and references to other nodes."""

    def __init__(self, other: Node | None) -> None:
        self.other = other
        self.items = [other]


class Buffer:
    """A registered owner type; without one, a watch does not search the garbage."""


def heap_of(objects: int) -> list[Node]:
    nodes: list[Node] = []
    while len(nodes) * 2 < objects:
        nodes.append(Node(nodes[-1] if nodes else None))
    return nodes


def peak_bytes() -> int:
    words = Path("/proc/self/status").read_text(encoding="utf-8").split("VmHWM:")[1].split()
    return int(words[0]) * 1024


def extra_bytes(function: Callable[[], object]) -> int:
    """Return the increase in peak resident memory that `function` causes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    before = peak_bytes()
    function()
    return peak_bytes() - before


def child(rounds: int) -> dict[str, float | list[float]]:
    gc.disable()
    cyclewatch.register_owner(Buffer, lambda _: None)
    cyclewatch.dead_bytes(generation=0)  # the first scan prepares the extension
    nodes = heap_of(OBJECTS)
    added = extra_bytes(cyclewatch.dead_bytes)
    extra = added / len(gc.get_objects())

    ratios = paired_ratios(
        lambda: seconds_of(cyclewatch.dead_bytes), lambda: seconds_of(gc.collect), rounds
    )
    gc.collect()
    young = []
    for _ in range(rounds):
        for _ in range(YOUNG // 2):
            node = Node(None)
            node.other = node
        del node
        young.append(seconds_of(lambda: cyclewatch.dead_bytes(generation=0)) * 1000)
        gc.collect(0)
    gc.enable()
    steps = 20_000

    def nanoseconds_of_step() -> float:
        with cyclewatch.watch() as watch:

            def loop() -> None:
                for number in range(steps):
                    watch.step(number)

            return seconds_of(loop) / steps * 1e9

    calls = [nanoseconds_of_step() for _ in range(rounds)]
    assert len(nodes) * 2 >= OBJECTS
    return {"ratios": ratios, "young": young, "extra": [extra], "step": calls}


def measure(quick: bool) -> list[Figure]:
    answer = in_child(__file__, rounds=3 if quick else 21)
    assert all(isinstance(samples, list) for samples in answer.values())
    return [
        Figure("full scan / gc.collect(), 400,000 objects", "ratio", answer["ratios"], 0.8),
        Figure("full scan: memory per object", "bytes", answer["extra"], 24),
        Figure("scan of 2,000 young objects beside that heap", "ms", answer["young"], 0.3),
        Figure("Watch.step() with collection on", "ns", answer["step"], 300),
    ]


if __name__ == "__main__":
    main(measure, child)
