# SPDX-License-Identifier: Apache-2.0
"""Measures never_freed() in a process with torch, with graphs of several sizes.

The second call for a graph is measured: the first makes torch create Python objects for the nodes.
"""

from __future__ import annotations

import gc

from measure import Figure, cpu_samples, in_child, main, samples_in

import cyclewatch


def child(nodes: int, rounds: int) -> dict[str, float | list[float]]:
    import torch

    gc.disable()
    result = torch.ones(8, requires_grad=True)
    for _ in range(nodes):
        result = result * 1.01
    cyclewatch.never_freed(settle=0)
    seconds = cpu_samples(lambda: cyclewatch.never_freed(settle=0), rounds)
    return {"seconds": seconds, "objects": len(gc.get_objects())}


def measure(quick: bool) -> list[Figure]:
    figures = []
    for nodes in (0, 1000, 10_000):
        answer = in_child(__file__, nodes=nodes, rounds=3 if quick else 11)
        what = f"never_freed(settle=0), {nodes:,} nodes, {answer['objects']:,} objects: CPU time"
        figures.append(Figure(what, "s", samples_in(answer, "seconds"), 0.2))
    return figures


if __name__ == "__main__":
    main(measure, child)
