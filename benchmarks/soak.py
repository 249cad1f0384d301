# SPDX-License-Identifier: Apache-2.0
"""A leaky training loop under a watch for half an hour: does the watch stay small and cheap?

Not part of `make bench`: `make soak` runs it; with WRITE=1 the answer goes into docs/soak.md.
The loop trains a small model on the CPU with automatic collection on. It leaves four kinds of
cycles behind again and again, and new kinds, four a second, so that a report is soon as full as it
gets.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

from plot import Panel, draw
from run import circumstances, put_into_page

import cyclewatch

SAMPLE_SECONDS = 10.0
NEW_KINDS_PER_SECOND = 4
LEAK_EVERY = 2  # steps
WARM_UP = 0.2  # of the whole time
GOAL_SHARE = 1.0  # per cent of wall time: the watch's budget
GOAL_GROWTH = 5.0  # per cent of the resident set, from the end of the warm-up to the end


class Node:
    """One object of a cycle."""


class Handler:
    """Keeps itself by a closure."""

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


KINDS = (leave_pair, leave_handler, leave_exception, leave_list)


def leave_new_kind(number: int, tensor: object) -> None:
    """A cycle of a class that no other cycle is of, so a finding of its own."""
    node = type(f"Kind{number}", (), {})()
    node.me = node
    node.tensor = tensor


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
        self.kinds = 0

    def step(self, elapsed: float) -> None:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(self.inputs), self.targets)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % LEAK_EVERY == 0:
            KINDS[self.steps // LEAK_EVERY % len(KINDS)](self.torch.empty(4096))
        if self.kinds < elapsed * NEW_KINDS_PER_SECOND:
            self.kinds += 1
            leave_new_kind(self.kinds, self.torch.empty(1024))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sample(watch: cyclewatch.Watch, trainer: Trainer) -> dict[str, float]:
    """Where the run is now."""
    stats = watch.stats
    return {
        "elapsed": stats.elapsed,
        "resident": resident_bytes(),
        "findings": stats.findings,
        "owners": stats.owners,
        "seconds": stats.seconds,
        "collections": stats.collections,
        "steps": trainer.steps,
        "kinds": trainer.kinds + len(KINDS),
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
        # What is on disk at the end is whole and says the same as the watch.
        written = cyclewatch.Report.load(watch.report_paths[0])
        assert written.retained_bytes == watch.report().retained_bytes
        return samples


def shares_of(samples: list[dict[str, float]]) -> list[float]:
    """Per cent of wall time in the watch, sample by sample."""
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
    """Medians of the first and of the second half after the warm-up."""
    counted = after_warm_up(values)
    middle = len(counted) // 2
    return median(counted[:middle]), median(counted[middle:])


def verdicts(samples: list[dict[str, float]]) -> list[tuple[str, str, str, bool]]:
    """What was asked, the goal, the answer, and whether it meets the goal."""
    resident = after_warm_up([each["resident"] / 2**20 for each in samples])
    first, last = median(resident[:5]), median(resident[-5:])
    growth = 100 * (last - first) / first
    shares = shares_of(samples)
    early, late = halves(shares)
    kept, made = samples[-1]["findings"], samples[-1]["kinds"]
    return [
        (
            "findings kept, of the kinds of cycles made",
            "at most 1,000",
            f"{kept:,.0f} of {made:,.0f}",
            kept <= 1000,
        ),
        (
            "resident memory, end of warm-up and end",
            f"grows by at most {GOAL_GROWTH:g} %",
            f"{first:.1f} MiB and {last:.1f} MiB ({growth:+.1f} %)",
            growth <= GOAL_GROWTH,
        ),
        (
            "share of wall time in the watch, first and second half after warm-up",
            "no more than 1.2 times as much in the second",
            f"{early:.3f} % and {late:.3f} %",
            late <= 1.2 * early,
        ),
        (
            "the higher of the two",
            f"the budget: {GOAL_SHARE:g} %",
            f"{max(early, late):.3f} %",
            max(early, late) <= GOAL_SHARE,
        ),
    ]


def words(samples: list[dict[str, float]]) -> str:
    last = samples[-1]
    lines = [
        f"Measured {', '.join(circumstances().values())}: {last['elapsed'] / 60:.1f} minutes,"
        f" {last['steps']:,.0f} steps of training, {last['collections']:,.0f} collections,"
        f" {last['owners']:,.0f} tensors that died in cycles, a page of"
        f" {last['file'] / 2**20:.1f} MiB.",
        "",
        "| what | goal | answer | |",
        "|---|---|---|---|",
    ]
    for what, goal, answer, met in verdicts(samples):
        lines.append(f"| {what} | {goal} | {answer} | {'met' if met else '**missed**'} |")
    return "\n".join(lines)


def picture(samples: list[dict[str, float]]) -> str:
    minutes = [each["elapsed"] / 60 for each in samples]
    return draw(
        "minutes",
        minutes,
        [
            Panel("resident memory, MiB", [each["resident"] / 2**20 for each in samples]),
            Panel("findings kept", [each["findings"] for each in samples]),
            Panel("share of wall time in the watch, %", shares_of(samples), goal=GOAL_SHARE),
        ],
        mark=WARM_UP * minutes[-1],
        mark_words="warm-up ends",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    parser.add_argument("--plot", type=Path, help="write the plot, an SVG, to this file")
    parser.add_argument("--page", type=Path, help="put the answer between the page's markers")
    options = parser.parse_args()
    samples = soak(options.minutes)
    print(words(samples))
    if options.json is not None:
        options.json.write_text(json.dumps(samples) + "\n", encoding="utf-8")
    if options.plot is not None:
        options.plot.write_text(picture(samples), encoding="utf-8")
    if options.page is not None:
        put_into_page(options.page, words(samples))


if __name__ == "__main__":
    main()
