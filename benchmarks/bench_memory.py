# SPDX-License-Identifier: Apache-2.0
"""Measures memory() in a process with torch, a model, an optimizer, and autograd graphs.

The heap has 400,000 objects: those of torch, and a chain of instances, each with a list. The second
call for a graph is measured: the first makes torch create Python objects for the nodes.
"""

from __future__ import annotations

import gc

from bench_scan import OBJECTS, extra_bytes, heap_of
from measure import Figure, cost_figures, cpu_samples, in_child, main

import cyclewatch


def child(nodes: int, rounds: int) -> dict[str, float | list[float]]:
    import torch

    gc.disable()
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(100)))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    result = torch.ones(8, requires_grad=True)
    for _ in range(nodes):
        result = result.sin()
    heap = heap_of(max(2, OBJECTS - len(gc.get_objects())))
    cyclewatch.memory("cpu")
    objects = len(gc.get_objects())
    extra = extra_bytes(lambda: cyclewatch.memory("cpu")) / objects
    seconds = cpu_samples(lambda: cyclewatch.memory("cpu"), rounds)
    assert heap
    return {"seconds": seconds, "extra": [extra], "objects": objects}


def measure(quick: bool) -> list[Figure]:
    figures = []
    for nodes in (0, 1000, 9000):
        answer = in_child(__file__, nodes=nodes, rounds=3 if quick else 11)
        what = f"memory(), {answer['objects']:,} objects, {nodes:,} nodes"
        figures += cost_figures(what, answer, 0.5, 60)
    return figures


if __name__ == "__main__":
    main(measure, child)
