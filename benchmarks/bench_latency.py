# SPDX-License-Identifier: Apache-2.0
"""Measures the startup time of a watch, and the delay from a collection's end to the warning.

Each round runs in a new process, because reporting the first finding also loads modules. The delay
starts when the collector calls a callback that precedes the watch's callback in `gc.callbacks`.
"""

from __future__ import annotations

import gc
import logging
import time
import warnings

from measure import Figure, in_child, main
from workloads import Block, drop_rings, read_block

import cyclewatch

OBJECTS = 1_000


def child(shown: bool) -> dict[str, float | list[float]]:
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    cyclewatch.register_owner(Block, read_block)
    gc.collect()
    gc.disable()
    began = time.thread_time()
    watch = cyclewatch.warn_tensor_cycles(devices=("cpu",)) if shown else cyclewatch.watch()
    started = time.thread_time() - began
    ended: list[float] = []
    warned: list[float] = []

    def on_collection(phase: str, _: dict[str, int]) -> None:
        if phase == "stop":
            ended.append(time.thread_time())

    def show(*_: object, **__: object) -> None:
        warned.append(time.thread_time())

    gc.callbacks.insert(0, on_collection)
    warnings.showwarning = show
    drop_rings(1, OBJECTS, lambda _: Block(4096), tied=False)
    gc.collect()
    watch.stop()
    if shown and len(warned) != 1:
        raise AssertionError(f"{len(warned)} warnings instead of one")
    return {"started": started, "latency": warned[0] - ended[0] if shown else 0}


def measure(quick: bool) -> list[Figure]:
    def rounds(shown: bool, key: str) -> list[float]:
        answers = [in_child(__file__, shown=shown) for _ in range(2 if quick else 15)]
        return [1000 * value for answer in answers if isinstance(value := answer[key], float)]

    what = f"end of the collection to the warning, {OBJECTS:,} objects"
    return [
        Figure("watch(), CPU time", "ms", rounds(False, "started"), 2),
        Figure(f"{what}, first finding of the process, CPU time", "ms", rounds(True, "latency"), 2),
    ]


if __name__ == "__main__":
    main(measure, child)
