# SPDX-License-Identifier: Apache-2.0
"""Shared by all benchmarks: timing rounds, child processes, results and the table that shows them.

Absolute times are not reproducible on a shared machine. Most figures are therefore ratios of two
times measured back to back. The median over many short rounds is compared with the goal.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One row of the table: a measurement and its goal."""

    what: str
    unit: str
    samples: list[float]
    goal: float | None = None
    at_least: bool = False  # the goal is a lower bound

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.median >= self.goal if self.at_least else self.median <= self.goal

    def cells(self) -> list[str]:
        goal = "" if self.goal is None else f"{'>=' if self.at_least else '<='} {_text(self.goal)}"
        values = (_text(value) for value in (self.median, min(self.samples), max(self.samples)))
        verdict = {None: "", True: "met", False: "**missed**"}[self.met]
        return [self.what, self.unit, *values, goal, verdict]


HEADINGS = ["measurement", "unit", "median", "min", "max", "goal", ""]


def _text(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < 10 else f"{value:.1f}"


def seconds_of(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def cpu_samples(function: Callable[[], object], rounds: int) -> list[float]:
    """Return the CPU time of the process, in seconds, of each of several calls."""
    samples = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        samples.append(time.process_time() - start)
    return samples


def samples_in(answer: dict[str, float | list[float]], name: str) -> list[float]:
    """Return a list from the result of in_child()."""
    samples = answer[name]
    assert isinstance(samples, list)
    return samples


def cost_figures(
    what: str, answer: dict[str, float | list[float]], seconds: float, extra: float
) -> list[Figure]:
    """The CPU time and the memory that a call takes, with their goals.

    `answer`: a result of in_child() with the samples "seconds" and "extra".
    """
    return [
        Figure(f"{what}: CPU time", "s", samples_in(answer, "seconds"), seconds),
        Figure(f"{what}: memory per object", "bytes", samples_in(answer, "extra"), extra),
    ]


def paired_ratios(on: Callable[[], float], off: Callable[[], float], rounds: int) -> list[float]:
    """Return `on`'s time divided by `off`'s time for each round; the order alternates."""
    on()
    off()  # warm up caches and memory
    ratios = []
    for number in range(rounds):
        if number % 2:
            with_it, without = on(), off()
        else:
            without, with_it = off(), on()
        ratios.append(with_it / without)
    return ratios


def in_child(script: str, **arguments: object) -> dict[str, float | list[float]]:
    """Run the `child` function of `script` in a new process and return its result."""
    command = [sys.executable, script, "--child", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(script).name} {arguments} failed:\n{done.stderr}")
    answer: dict[str, float | list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def instructions_in_child(
    script: str, parts: Sequence[str] = (), **arguments: object
) -> tuple[int, dict[str, Any]]:
    """Run the function child(**arguments) of `script` in a new process under callgrind.

    Args:
        script: Path of the benchmark.
        parts: Function-name patterns; only matching functions and their callees are measured.
        arguments: The arguments of child().

    Returns:
        The number of executed instructions, and the result of child().
    """
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
            + [f"--toggle-collect={part}" for part in parts]
            + [sys.executable, script, "--child", json.dumps(arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        if done.returncode != 0:
            raise RuntimeError(f"valgrind failed:\n{done.stderr}")
        lines = profile.read_text(encoding="utf-8").splitlines()
    instructions = next(line for line in lines if line.startswith("totals:")).split()[1]
    return int(instructions), json.loads(done.stdout.splitlines()[-1])


def table(figures: Iterable[Figure]) -> str:
    """Return a Markdown table that is also readable in a terminal."""
    rows = [HEADINGS, *(figure.cells() for figure in figures)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(HEADINGS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def main(
    measure: Callable[[bool], list[Figure]],
    child: Callable[..., dict[str, float | list[float]]] | None = None,
) -> None:
    """The command-line interface of one benchmark. Child processes also start here."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that it runs")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None and child is not None:
        print(json.dumps(child(**json.loads(options.child))))
    else:
        print(table(measure(options.quick)))
