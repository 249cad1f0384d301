# SPDX-License-Identifier: Apache-2.0
"""Runs one test's body several times, to tell loops that recur from those of a warm-up."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyclewatch import Finding, Watch
    from cyclewatch.pytest_plugin.heap import Heap


class Repetition:
    """Which loops which run made."""

    def __init__(self, times: int, heap: Heap, start_watch: Callable[[], Watch]) -> None:
        """Nothing runs yet."""
        self._times = times
        self._heap = heap
        self._start_watch = start_watch
        self._runs_with: Counter[str] = Counter()

    @contextmanager
    def of(self, item: pytest.Item) -> Iterator[None]:
        """Meanwhile ``item.runtest()`` runs the body `times` times.

        A doctest runs once: its names are gone after the first run.
        """
        if isinstance(item, pytest.DoctestItem):
            self._times = 1
        if self._times == 1:
            yield
            return
        original = item.runtest

        def runtest() -> None:
            for _ in range(self._times):
                self._one_run(original)

        # On the object, so that captured output, fixtures and time limits work as for one run.
        item.runtest = runtest  # type: ignore[method-assign]
        try:
            yield
        finally:
            del item.runtest

    def _one_run(self, original: Callable[[], None]) -> None:
        with self._start_watch() as watch:
            original()
            _ = watch.stats  # puts our entry in gc.callbacks back if the body took it out
            self._heap.collect()
        self._runs_with.update(finding.signature for finding in watch.report().findings)

    def recurs(self, finding: Finding) -> bool:
        """Whether at least two runs made this loop, or the body runs only once anyway."""
        return self._times == 1 or self._runs_with[finding.signature] > 1
