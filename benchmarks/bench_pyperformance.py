# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that CYCLEWATCH=1 adds to the pyperformance benchmarks.

Requires pyperformance, installed in any environment (``pip install --no-deps pyperformance``). The
environment variable PYPERFORMANCE must contain the path of the installed directory
``pyperformance/data-files/benchmarks``; otherwise nothing is measured. Each program runs under
callgrind with and without a watch, and with two different loop counts. The difference between the
instruction counts excludes the startup of the interpreter, the watch and the program. One owner
type is registered, because otherwise a watch would not search the garbage. The module ``pyperf`` is
replaced by a runner in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import os
import runpy
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Figure, instructions_in_child, main
from workloads import Block, read_block

# The programs, and the loop counts of the smaller and the larger run.
PROGRAMS: dict[str, tuple[int, int]] = {
    "gc_collect": (1, 4),
    "gc_traversal": (1, 4),
    "async_tree": (1, 2),
    "deepcopy": (20, 120),
    "coroutines": (1, 3),
    "generators": (1, 4),
    "xml_etree": (1, 3),
    "deltablue": (5, 45),
}


ARGUMENTS = {"async_tree": ["none"]}


class Runner:
    """Replaces ``pyperf.Runner``: runs each benchmark for a fixed number of loops."""

    loops = 1
    arguments: tuple[str, ...] = ()

    def __init__(self, **_: object) -> None:
        self.metadata: dict[str, object] = {}
        self.argparser = argparse.ArgumentParser()
        self.args = argparse.Namespace()

    def parse_args(self) -> argparse.Namespace:
        self.args = self.argparser.parse_args(self.arguments)
        return self.args

    def bench_time_func(self, _: str, function: Callable[..., object], *arguments: Any) -> None:
        function(self.loops, *arguments)

    def bench_func(self, _: str, function: Callable[..., object], *arguments: Any) -> None:
        for _number in range(self.loops):
            function(*arguments)

    def bench_async_func(self, _: str, function: Callable[..., Any], *arguments: Any) -> None:
        for _number in range(self.loops):
            asyncio.run(function(*arguments))


def child(program: str, loops: int, watched: bool) -> dict[str, float | list[float]]:
    import cyclewatch
    from cyclewatch import autostart

    cyclewatch.register_owner(Block, read_block)
    path = Path(os.environ["PYPERFORMANCE"], f"bm_{program}", "run_benchmark.py")
    with tempfile.TemporaryDirectory() as folder:
        if watched:
            os.environ.update(CYCLEWATCH="1", CYCLEWATCH_OUTPUT=folder)
            autostart.start()
        pyperf = types.ModuleType("pyperf")
        pyperf.Runner = Runner  # type: ignore[attr-defined]
        pyperf.perf_counter = time.perf_counter  # type: ignore[attr-defined]
        pyperf.python_implementation = lambda: sys.implementation.name  # type: ignore[attr-defined]
        sys.modules["pyperf"] = pyperf
        Runner.loops = loops
        Runner.arguments = tuple(ARGUMENTS.get(program, ()))
        sys.argv = [str(path)]
        gc.collect()
        if any("cyclewatch" in repr(callback) for callback in gc.callbacks) != watched:
            raise AssertionError("CYCLEWATCH=1 did not start a watch")
        runpy.run_path(str(path), run_name="__main__")
    return {}


def count(program: str, loops: int, watched: bool) -> int:
    """Return the number of instructions that a new process executes."""
    return instructions_in_child(__file__, program=program, loops=loops, watched=watched)[0]


def measure(quick: bool) -> list[Figure]:
    if shutil.which("valgrind") is None or "PYPERFORMANCE" not in os.environ:
        print("Not measured: requires valgrind, and pyperformance in PYPERFORMANCE.")
        return []
    ratios = {}
    for program, loops in list(PROGRAMS.items())[: 1 if quick else None]:
        with_it, without = (
            count(program, loops[1], watched) - count(program, loops[0], watched)
            for watched in (True, False)
        )
        ratios[program] = with_it / without
        print(f"{program}: {ratios[program]:.4f}", file=sys.stderr, flush=True)
    figures = [
        Figure(f"{program}: with / without CYCLEWATCH=1", "ratio", [ratio])
        for program, ratio in ratios.items()
    ]
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return [*figures, Figure("geometric mean of the programs", "ratio", [mean], 1.01)]


if __name__ == "__main__":
    main(measure, child)
