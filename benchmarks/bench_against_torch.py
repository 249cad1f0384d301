# SPDX-License-Identifier: Apache-2.0
"""Compares cyclewatch with torch.utils.viz._cycles, on the same garbage in the same process.

Both tools write an HTML page that shows what kept tensors alive. torch's tool creates the graph and
the page after each collection, as torch's `warn_tensor_cycles` does. Unlike `warn_tensor_cycles`,
this benchmark includes CPU tensors and does not look up CUDA allocations. cyclewatch runs with its
own `warn_tensor_cycles`, which writes the page in the background.
"""

from __future__ import annotations

import gc
import logging
import tempfile
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from statistics import median

from measure import Figure, in_child, main, seconds_of
from workloads import drop_pairs

import cyclewatch

# A typical automatic young collection: 100 cycles of two objects, each with a tensor.
CYCLES = 100

MakeOwner = Callable[[], object]

CASES = [
    ("young collection, tensors, graph and HTML", 0, True),
    ("full collection, tensors, graph and HTML", 2, True),
    ("young collection, no tensors, no-op observer", 0, False),
]


class TorchObserver:
    """Enables torch's detector inside the `with` block."""

    def __init__(self, observer: Callable[[list[object]], object]) -> None:
        self.observer = observer

    def __enter__(self) -> TorchObserver:
        from torch.utils.viz._cycles import observe_garbage

        self._remove = observe_garbage(self.observer)
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()
        gc.set_debug(0)
        gc.collect()


def graph_and_html(garbage: list[object]) -> None:
    import torch
    from torch.utils.viz._cycles import create_graph, to_html

    def owns_memory(candidate: object) -> bool:
        return isinstance(candidate, torch.Tensor)

    if any(owns_memory(candidate) for candidate in garbage):
        to_html(create_graph(garbage, context=lambda _: None, filter=owns_memory))


def run_profile_function() -> None:
    """Do nothing: the call and its return are profile events, which make torch's detector run."""


def collection(generation: int, make_owner: MakeOwner) -> float:
    """Return the time to collect `CYCLES` cycles, including the tool's work right afterwards."""
    gc.disable()
    drop_pairs(CYCLES, make_owner)

    def collect() -> None:
        gc.collect(generation)
        run_profile_function()
        run_profile_function()

    return seconds_of(collect)


def collections(
    tool: AbstractContextManager[object], generation: int, rounds: int, make_owner: MakeOwner
) -> list[float]:
    """Return the duration in seconds of every collection but the first, with `tool` enabled."""
    gc.collect()
    with tool:
        return [collection(generation, make_owner) for _ in range(rounds + 1)][1:]


def child(generation: int, rounds: int, tensors: bool) -> dict[str, float | list[float]]:
    import torch

    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    make_owner: MakeOwner = (lambda: torch.zeros(256)) if tensors else object
    observer = graph_and_html if tensors else (lambda garbage: None)
    plain_ms, ours_ms, theirs_ms = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            plain = median(collections(nullcontext(), generation, 7, make_owner))
            watch = cyclewatch.warn_tensor_cycles(devices=("cpu",), report_dir=folder, budget=1)
            ours = median(collections(watch, generation, 7, make_owner))
            theirs = collections(TorchObserver(observer), generation, 1, make_owner)[0]
            stats = watch.stats
            plain_ms.append(1000 * plain)
            # The duration of a full collection varies by more than the watch adds, so use the time
            # measured by the watch.
            own = stats.seconds / stats.collections
            ours_ms.append(1000 * (own if generation == 2 else ours - plain))
            theirs_ms.append(1000 * (theirs - plain))
    ratios = [theirs / us for theirs, us in zip(theirs_ms, ours_ms, strict=True)]
    return {"ratios": ratios, "plain": plain_ms, "ours": ours_ms, "theirs": theirs_ms}


def measure(quick: bool) -> list[Figure]:
    figures = []
    for what, generation, tensors in CASES:
        rounds = 2 if quick else 7
        answer = in_child(__file__, generation=generation, rounds=rounds, tensors=tensors)
        samples = {key: value for key, value in answer.items() if isinstance(value, list)}
        goal = 100 if tensors else None
        figures += [
            Figure(
                f"{what}: added by torch / added by cyclewatch",
                "ratio",
                samples["ratios"],
                goal,
                at_least=True,
            ),
            Figure(f"{what}: without either tool", "ms", samples["plain"]),
            Figure(f"{what}: added by cyclewatch", "ms", samples["ours"]),
            Figure(f"{what}: added by torch", "ms", samples["theirs"]),
        ]
    return figures


if __name__ == "__main__":
    main(measure, child)
