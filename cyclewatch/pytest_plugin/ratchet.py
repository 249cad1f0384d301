# SPDX-License-Identifier: Apache-2.0
"""Holds a run against the baseline, and shrinks the baseline when asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from cyclewatch.pytest_plugin.baseline import Baseline, first_baseline
from cyclewatch.pytest_plugin.loops import KNOWN, NEW, Loop

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


class Ratchet:
    """The baseline of one run, in the process that sees all of it."""

    def __init__(self, path: Path, baseline: Baseline, *, update: bool, strict: bool) -> None:
        """`baseline` is what `path` said when the run began."""
        self._path = path
        self._baseline = baseline
        self._update = update
        self._strict = strict
        self._is_first = not path.exists()
        # Tests that were checked and passed: what they do not make they make no more. One that
        # failed may not have come so far.
        self.passed: set[str] = set()
        self.fails = False

    def settle(
        self, loops: list[Loop], present: Collection[str], session: pytest.Session
    ) -> list[str]:
        """Judge the baseline by the `loops` of the run. What there is to say, line by line.

        `present` are those tests of the baseline that were found, whether they ran or not.
        Raises CannotWrite.
        """
        if self._is_first:
            return self._make_first(loops, session)
        counts: Counter[str] = Counter()
        for loop in loops:
            if loop["verdict"] == KNOWN:
                counts.update(loop["signatures"])
        vanished = [
            signature
            for signature, entry in self._baseline.entries.items()
            if not counts[signature] and self._can_tell(entry.test, present, session)
        ]
        if self._update:
            return self._shrink(vanished, counts)
        if not vanished:
            return []
        self.fails = self._strict
        lines = [
            f"vanished: {self._baseline.entries[signature].line(signature)}"
            for signature in vanished
        ]
        return [
            *lines,
            f"{len(vanished)} of the baseline {self._path} are gone; "
            "take them out with --cyclewatch-update-baseline",
        ]

    def _make_first(self, loops: list[Loop], session: pytest.Session) -> list[str]:
        if not self._update:
            return [
                f"there is no baseline {self._path} yet; --cyclewatch-update-baseline writes it"
            ]
        if not _came_to_its_end(session):
            return ["the run did not come to its end, so no baseline was written"]
        first = first_baseline(loop for loop in loops if loop["verdict"] == NEW)
        first.write(self._path)
        return [f"wrote the baseline {self._path}, findings: {len(first.entries)}"]

    def _shrink(self, vanished: list[str], counts: Counter[str]) -> list[str]:
        shrunk = self._baseline.without(vanished, counts)
        if shrunk.entries == self._baseline.entries:
            return []
        shrunk.write(self._path)
        return [f"took out of the baseline {self._path}, vanished findings: {len(vanished)}"]

    def _can_tell(self, test: str, present: Collection[str], session: pytest.Session) -> bool:
        # Only a run of the example can tell that its loop is gone; or a run that looked for that
        # test in its file and did not find it.
        if test in self.passed:
            return True
        config = session.config
        narrowed = getattr(config.option, "lf", False) or any("::" in each for each in config.args)
        if test in present or narrowed or not _came_to_its_end(session):
            return False
        file = test.split("::")[0]
        return any(node.startswith(f"{file}::") for node in self.passed)


def _came_to_its_end(session: pytest.Session) -> bool:
    if session.config.getoption("collectonly", False):
        return False
    return session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
