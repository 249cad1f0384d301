# SPDX-License-Identifier: Apache-2.0
"""Checks that a watch's overhead does not grow while a training loop leaks for half an hour.

`make soak` runs this check; with WRITE=1 it updates docs/performance.md. The loop trains a small
model on the CPU with automatic collection. It creates the same four cycles over and over, and four
new cycles per second, so that the report soon reaches its limit of 1,000 findings.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

from run import circumstances, put_into_page

import cyclewatch

SAMPLE_SECONDS = 10.0
NEW_CYCLES_PER_SECOND = 4
LEAK_EVERY = 2  # steps
WARM_UP = 0.2  # share of the run
GOAL_SHARE = 1.0  # percent of wall time: the watch's budget
GOAL_GROWTH = 5.0  # percent of the resident set, from the end of the warm-up to the end
LETTERS = str.maketrans("0123456789", "abcdefghij")


class Node:
    """One object of a cycle."""


class Handler:
    """Refers to itself through a closure."""

    def __init__(self, tensor: object) -> None:
        self.tensor = tensor
        self.on_event = lambda: self


def leave_pair(tensor: object) -> None:
    left, right = Node(), Node()
    left.peer, right.peer, left.tensor = right, left, tensor  # type: ignore[attr-defined]


def leave_handler(tensor: object) -> None:
    Handler(tensor)


def leave_exception(tensor: object) -> None:
    kept = []
    try:
        raise ValueError(tensor)
    except ValueError as error:
        kept.append(error)


def leave_list(tensor: object) -> None:
    cycle: list[object] = [tensor]
    cycle.append(cycle)


LEAKS = (leave_pair, leave_handler, leave_exception, leave_list)


def leave_new_cycle(number: int, tensor: object) -> None:
    """Create a cycle through a new attribute name, so that the cycle is a new finding.

    The name is spelled with letters, because names that differ only in numbers count as equal.
    """
    node = Node()
    setattr(node, "me_" + str(number).translate(LETTERS), node)
    node.tensor = tensor  # type: ignore[attr-defined]


class Trainer:
    """The program being watched."""

    def __init__(self) -> None:
        import torch
        from torch import nn

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.torch = torch
        self.model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.loss = nn.functional.cross_entropy
        self.inputs, self.targets = torch.randn(64, 64), torch.randint(10, (64,))
        self.steps = 0
        self.new_cycles = 0

    def step(self, elapsed: float) -> None:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(self.inputs), self.targets)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % LEAK_EVERY == 0:
            LEAKS[self.steps // LEAK_EVERY % len(LEAKS)](self.torch.empty(4096))
        if self.new_cycles < elapsed * NEW_CYCLES_PER_SECOND:
            self.new_cycles += 1
            leave_new_cycle(self.new_cycles, self.torch.empty(1024))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sample(watch: cyclewatch.Watch, trainer: Trainer) -> dict[str, float]:
    """Return measurements of the current state of the run."""
    stats = watch.stats
    return {
        "elapsed": stats.elapsed,
        "resident": resident_bytes(),
        "findings": stats.findings,
        "owners": stats.owners,
        "seconds": stats.seconds,
        "collections": stats.collections,
        "steps": trainer.steps,
        "cycles": trainer.new_cycles + len(LEAKS),
        "file": sum(os.path.getsize(path) for path in watch.report_paths if os.path.exists(path)),
    }


def soak(minutes: float) -> list[dict[str, float]]:
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    trainer = Trainer()
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        with cyclewatch.warn_tensor_cycles(devices=("cpu",), report_dir=folder) as watch:
            begin = time.perf_counter()
            for due in itertools.count(1):
                while (elapsed := time.perf_counter() - begin) < due * SAMPLE_SECONDS:
                    trainer.step(elapsed)
                samples.append(sample(watch, trainer))
                if elapsed >= minutes * 60:
                    break
        # The report on disk is complete and consistent with the watch.
        written = cyclewatch.Report.load(watch.report_paths[0])
        assert written.retained_bytes == watch.report().retained_bytes
        return samples


def shares_of(samples: list[dict[str, float]]) -> list[float]:
    """Return the percentage of wall time spent in the watch, for each sample."""
    shares = []
    before = {"elapsed": 0.0, "seconds": 0.0}
    for now in samples:
        spent = now["seconds"] - before["seconds"]
        shares.append(100 * spent / (now["elapsed"] - before["elapsed"]))
        before = now
    return shares


def after_warm_up(values: list[float]) -> list[float]:
    return values[int(len(values) * WARM_UP) :]


def halves(values: list[float]) -> tuple[float, float]:
    """Drop the warm-up values, and return the median of each half of the remaining values."""
    counted = after_warm_up(values)
    middle = len(counted) // 2
    return median(counted[:middle]), median(counted[middle:])


def results(samples: list[dict[str, float]]) -> list[tuple[str, str, str, bool]]:
    """Return a row per measurement: name, goal, result, and whether the goal is met."""
    resident = after_warm_up([each["resident"] / 2**20 for each in samples])
    first, last = median(resident[:5]), median(resident[-5:])
    growth = 100 * (last - first) / first
    shares = shares_of(samples)
    early, late = halves(shares)
    kept, made = samples[-1]["findings"], samples[-1]["cycles"]
    return [
        (
            "findings in the report, of distinct cycles created",
            "at most 1,000",
            f"{kept:,.0f} of {made:,.0f}",
            kept <= 1000,
        ),
        (
            "resident memory, after warm-up and at the end",
            f"grows by at most {GOAL_GROWTH:g} %",
            f"{first:.1f} MiB and {last:.1f} MiB ({growth:+.1f} %)",
            growth <= GOAL_GROWTH,
        ),
        (
            "share of wall time in the watch, first and second half after warm-up",
            "at most 1.2 times as much in the second",
            f"{early:.3f} % and {late:.3f} %",
            late <= 1.2 * early,
        ),
        (
            "the larger of the two",
            f"the budget: {GOAL_SHARE:g} %",
            f"{max(early, late):.3f} %",
            max(early, late) <= GOAL_SHARE,
        ),
    ]


def table(samples: list[dict[str, float]]) -> str:
    last = samples[-1]
    lines = [
        f"Measured {', '.join(circumstances().values())}: {last['elapsed'] / 60:.1f} minutes,"
        f" {last['steps']:,.0f} steps of training, {last['collections']:,.0f} collections,"
        f" {last['owners']:,.0f} tensors freed with cycles, a report of"
        f" {last['file'] / 2**20:.1f} MiB.",
        "",
        "| measurement | goal | result | |",
        "|---|---|---|---|",
    ]
    for what, goal, result, met in results(samples):
        lines.append(f"| {what} | {goal} | {result} | {'met' if met else '**missed**'} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--page", type=Path, help="update the table in this Markdown page")
    options = parser.parse_args()
    samples = soak(options.minutes)
    print(table(samples))
    if options.page is not None:
        put_into_page(options.page, "soak", table(samples))


if __name__ == "__main__":
    main()
