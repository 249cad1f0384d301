# SPDX-License-Identifier: Apache-2.0
"""Measures the overhead of the pytest plugin for an empty test, with torch imported."""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from measure import Figure, in_child, main

TESTS = 1000
ROUNDS = 7

EMPTY = """
import pytest
import torch

@pytest.mark.parametrize("number", range({tests}))
def test_empty(number):
    pass
"""

# Without freezing, a plugin needs at least one full collection per test.
NAIVE = """
import gc

def pytest_runtest_teardown():
    gc.collect()
"""


class Stopwatch:
    """Times the loop over all tests and records the peak resident memory after each test."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.kibibytes: list[int] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self.seconds = time.perf_counter() - start

    def pytest_runtest_logfinish(self) -> None:
        self.kibibytes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def child(variant: str, tests: int) -> dict[str, float | list[float]]:
    stopwatch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_empty.py").write_text(EMPTY.format(tests=tests), encoding="utf-8")
        Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        if variant == "naive":
            Path(folder, "conftest.py").write_text(NAIVE, encoding="utf-8")
        mode = "fail" if variant == "on" else "off"
        options = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider"]
        status = pytest.main([*options, f"--cyclewatch={mode}", folder], plugins=[stopwatch])
    if status != 0:
        sys.exit(f"the tests of variant {variant} failed with exit status {status}")
    tenth = stopwatch.kibibytes[len(stopwatch.kibibytes) // 10]
    grown = stopwatch.kibibytes[-1] - tenth
    return {"milliseconds": 1000 * stopwatch.seconds / tests, "grown": grown}


def measure(quick: bool) -> list[Figure]:
    tests, rounds = (50, 1) if quick else (TESTS, ROUNDS)
    runs: dict[str, list[dict]] = {"off": [], "on": [], "naive": []}
    for number in range(rounds):
        order = list(runs) if number % 2 else list(runs)[::-1]
        for variant in order:
            # A test with a full collection takes a hundred times as long, so fewer tests suffice.
            count = tests if variant != "naive" else max(20, tests // 20)
            runs[variant].append(in_child(__file__, variant=variant, tests=count))
    off = statistics.median(run["milliseconds"] for run in runs["off"])

    def added(variant: str) -> list[float]:
        pairs = zip(runs[variant], runs["off"], strict=True)
        return [one["milliseconds"] - other["milliseconds"] for one, other in pairs]

    naive = statistics.median(added("naive"))
    grown = [
        one["grown"] - other["grown"] for one, other in zip(runs["on"], runs["off"], strict=True)
    ]
    return [
        Figure(f"an empty test without the plugin ({tests} tests)", "ms", [off]),
        Figure("added by the plugin", "ms", added("on"), 0.7),
        Figure("added by one full collection per test", "ms", added("naive")),
        Figure("ratio of the two", "times", [naive / one for one in added("on")]),
        Figure("memory growth added by the plugin, from the 100th test on", "KiB", grown),
    ]


if __name__ == "__main__":
    main(measure, child)
