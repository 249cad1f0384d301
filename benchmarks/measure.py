# SPDX-License-Identifier: Apache-2.0
"""What every benchmark here shares: rounds, child processes, figures and how they are shown.

Absolute times say little on a machine that others use as well. So a figure is a ratio of two
times taken next to each other, and what counts is the median of many short rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One row of the table: what was measured, and what it should be."""

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

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "unit": self.unit,
            "median": self.median,
            "samples": self.samples,
            "goal": self.goal,
            "at_least": self.at_least,
            "met": self.met,
        }


HEADINGS = ["what", "unit", "median", "min", "max", "goal", ""]


def _text(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < 10 else f"{value:.1f}"


def seconds_of(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def paired_ratios(on: Callable[[], float], off: Callable[[], float], rounds: int) -> list[float]:
    """Seconds of `on` / seconds of `off`, per round; which of the two goes first alternates."""
    on()
    off()  # caches are warm and memory is there before the first round counts
    ratios = []
    for number in range(rounds):
        if number % 2:
            with_it, without = on(), off()
        else:
            without, with_it = off(), on()
        ratios.append(with_it / without)
    return ratios


def in_child(script: str, **arguments: object) -> dict[str, float | list[float]]:
    """What `script`'s `child` function returns in a process of its own."""
    command = [sys.executable, script, "--child", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(script).name} {arguments} failed:\n{done.stderr}")
    answer: dict[str, float | list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def table(figures: Iterable[Figure]) -> str:
    """A Markdown table that reads as well in a terminal."""
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
    """The command line of one benchmark; children come back here as well."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work at all?")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None and child is not None:
        print(json.dumps(child(**json.loads(options.child))))
    else:
        print(table(measure(options.quick)))
