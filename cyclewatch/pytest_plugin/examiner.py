# SPDX-License-Identifier: Apache-2.0
"""Looks for loops at the end of a phase, after a test and after the last one, and blames them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cyclewatch
from cyclewatch.pytest_plugin.births import Birth, Births, parents_of
from cyclewatch.pytest_plugin.loops import REPORT_NAME, keep_part
from cyclewatch.pytest_plugin.marks import allowances, mode_for
from cyclewatch.pytest_plugin.reporting import report_again
from cyclewatch.pytest_plugin.told import is_failed_assertion
from cyclewatch.pytest_plugin.tracebacks import clear_frames
from cyclewatch.pytest_plugin.verdicts import Judge, TensorCycle
from cyclewatch.watches import issue_warning
from cyclewatch.wording import failure_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from cyclewatch import Finding, Watch
    from cyclewatch.pytest_plugin.heap import Heap
    from cyclewatch.pytest_plugin.ledger import Ledger
    from cyclewatch.pytest_plugin.options import Settings
    from cyclewatch.pytest_plugin.run import Run


class Examiner:
    """Collects, and finds out whose the findings are. The caller begins the `heap`."""

    def __init__(self, settings: Settings, judge: Judge, ledger: Ledger, heap: Heap) -> None:
        """Nothing has been looked at."""
        self._settings = settings
        self._judge = judge
        self._ledger = ledger
        self._heap = heap
        self._births = Births()

    def start_watch(self) -> Watch:
        """A silent watch with the run's options."""
        return cyclewatch.watch(
            devices=self._settings.devices,
            min_bytes=self._settings.min_bytes,
            # A test may take its time; what counts is that nothing is left out.
            budget=1.0,
        )

    @property
    def is_due(self) -> bool:
        """Whether enough has outlived its test for another look at the whole heap."""
        return self._births.crowded()

    def examine_phase(
        self,
        run: Run,
        when: str,
        watch: Watch,
        nextitem: pytest.Item | None,
        is_ours: Callable[[Finding], bool],
        error: BaseException | None,
    ) -> None:
        """Find what the phase left. Raises TensorCycle if the test has to answer for it.

        If the phase raised an `error`, that stands; what was found is told beside it.
        """
        ended = _ended_nodes(run.item, nextitem) if when == "teardown" else set()
        findings, dead = self._look(watch, run.item, ended)
        self._births.note(run.item, when)
        own = []
        parts: dict[str, tuple[int, int]] = {}  # of those that other tests answer for too
        for finding in findings:
            mine: list[Birth] = []
            others: list[Birth] = []
            for birth in parents_of(finding, dead):
                is_mine = birth.item is run.item or _belongs_to(birth, ended)
                (mine if is_mine else others).append(birth)
            self._blame(others, finding, len(mine))
            if (mine or not others) and is_ours(finding):
                own.append(finding)
                if others:
                    parts[finding.signature] = (len(mine), len(mine) + len(others))
        if not own:
            return
        goes_on = not is_failed_assertion(error, run.item)
        new, run.loops[when] = self._judge.judge(
            own,
            run.allowances,
            run.item,
            when,
            is_expected=lambda finding: goes_on and run.told.covers(finding),
        )
        for loop in run.loops[when]:
            if loop["signature"] in parts:
                keep_part(loop, 0, *parts[loop["signature"]])
        untold = [finding for finding in new if not run.told.covers(finding)]
        if untold:
            run.texts[when] = self._text(untold)
            if error is None:
                self._complain(run, untold, run.texts[when])

    def examine_leavings(self, run: Run) -> None:
        """Find what became garbage only when pytest let go of the test."""
        with self.start_watch() as watch:
            clear_frames(run.exceptions)
            run.exceptions.clear()
            findings, _ = self._look(watch, run.item, set())
        self._births.note(run.item, "teardown")
        if not findings or self._settings.scope == "call":
            return
        if run.raised:
            # The test has failed, or was skipped, already; its exception kept these alive.
            self._ledger.loops += self._judge.judge(findings, run.allowances, run.item, "teardown")[
                1
            ]
        else:
            self._blame_on(run.item, "teardown", findings)

    def examine_everything(self) -> None:
        """Find what became garbage though it is older than the test that ran then."""
        births = self._births.before_collection()
        with self.start_watch() as watch:
            self._heap.collect_everything()
        self._births.looked_at_everything()
        dead = [birth for birth in births if not birth.alive]
        for finding in watch.report().findings:
            parents = parents_of(finding, dead)
            self._blame(parents, finding)
            if not parents:
                self._ledger.loops += self._judge.judge([finding], [], None, "")[1]

    def _look(
        self, watch: Watch, item: pytest.Item, ended: set[object]
    ) -> tuple[list[Finding], list[Birth]]:
        # The findings of `watch`, and the owners of earlier tests that went with them.
        _ = watch.stats  # puts our entry in gc.callbacks back if the test took it out
        births = self._births.before_collection()
        older = self._heap.collect()
        if any(
            birth.item is not item and _belongs_to(birth, ended) and birth.alive for birth in births
        ):
            # A fixture of a class or module that has ended now, and still there.
            self._heap.collect_everything()
            older = True
        watch.stop()
        for reason, count in watch.stats.skipped.items():
            self._ledger.notes.append(f"{item.nodeid}: {reason} ({count})")
        dead = [birth for birth in births if not birth.alive] if older else []
        return watch.report().findings, dead

    def _complain(self, run: Run, new: Sequence[Finding], text: str) -> None:
        if run.fails:
            raise TensorCycle(text)
        for finding in new:
            try:
                issue_warning(finding, None)
            except cyclewatch.TensorCycleWarning:
                raise TensorCycle(text) from None  # warnings are errors in this run
            except Exception:
                # A test replaced the functions of `warnings`: the summary shows the loop anyway.
                return

    def _blame(self, parents: Sequence[Birth], finding: Finding, others: int = 0) -> None:
        # Equal loops of several tests are one finding: each of those tests has to answer for it,
        # and counts for the part that its owners are of all, `others` included.
        items: dict[pytest.Item, list[Birth]] = {}
        for birth in parents:
            items.setdefault(birth.item, []).append(birth)
        whole = others + len(parents)
        for item, births in items.items():
            part = (others, others + len(births), whole)
            self._blame_on(item, births[0].when, [finding], part)
            others += len(births)

    def _blame_on(
        self,
        item: pytest.Item,
        when: str,
        findings: Sequence[Finding],
        part: tuple[int, int, int] = (0, 1, 1),
    ) -> None:
        new, loops = self._judge.judge(findings, allowances(item), item, when)
        for loop in loops:
            keep_part(loop, *part)
        if new and mode_for(item, self._settings.mode) == "fail":
            text = f"{self._text(new)}\n\nFound after the test: made in its {when}, garbage later."
            report_again(item, text, loops)
        else:
            self._ledger.loops += loops

    def _text(self, new: Sequence[Finding]) -> str:
        folder = self._settings.report
        return failure_text(new, str(folder / REPORT_NAME) if folder is not None else None)


def _ended_nodes(item: pytest.Item, nextitem: pytest.Item | None) -> set[object]:
    # The class, module and so on that pytest tears down with `item`.
    ended: set[object] = set(item.listchain()[:-1])
    return ended - set(nextitem.listchain()) if nextitem is not None else ended


def _belongs_to(birth: Birth, nodes: set[object]) -> bool:
    return bool(nodes) and birth.when == "setup" and not nodes.isdisjoint(birth.item.listchain())
