# SPDX-License-Identifier: Apache-2.0
"""Collects garbage after each phase, test and run, and fails the tests that created cycles."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import pytest

import cyclewatch
from cyclewatch.pytest_plugin.attribution import Survivor, Survivors, creators, ended_nodes
from cyclewatch.pytest_plugin.marks import Allowance, allowances, mode_for
from cyclewatch.pytest_plugin.never_freed import NeverFreedSearch
from cyclewatch.pytest_plugin.records import (
    LIBRARY,
    Classifier,
    CycleRecord,
    ProcessResults,
    ReportedAssertions,
    uncounted,
)
from cyclewatch.watching.finding_warnings import issue_warning
from cyclewatch.wording import failure_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cyclewatch import Finding, Watch
    from cyclewatch.pytest_plugin.freezer import Freezer
    from cyclewatch.pytest_plugin.options import Settings

REPORT_NAME = "cyclewatch.html"  # in the folder of --cyclewatch-report


class TensorCycle(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """Raised to fail a phase; the message contains the cards. Not part of the public API."""

    def __init__(self, text: str) -> None:
        """Create the exception without a traceback, which would only show the plugin's frames."""
        super().__init__(text, pytrace=False)


class LateTensorCycle(TensorCycle):
    """Raised to fail a test that has already been reported."""

    def __init__(self, text: str, records: list[CycleRecord]) -> None:
        """Create the exception; `records` are added to the report."""
        super().__init__(text)
        self.records = records


@dataclass
class TestRun:
    """One run of one test, from its setup until pytest drops its references to the test."""

    item: pytest.Item
    # Whether a new cycle fails the test; otherwise, the cycle only causes a warning.
    fails: bool
    allowances: list[Allowance] = field(default_factory=list)
    # Whether to search for cycles that no collection frees.
    finds_never_freed: bool = False
    # Whether the test was skipped, or failed for another reason.
    raised: bool = False
    # The exceptions of the phases. They are kept until the end of the test, and their frames may be
    # cleared then.
    exceptions: list[BaseException] = field(default_factory=list)
    # The errors that assertions raised in the current phase.
    assertions: ReportedAssertions = field(default_factory=ReportedAssertions)
    # The findings of the current phase, until its report is created; `text` describes the new ones.
    records: list[CycleRecord] = field(default_factory=list)
    text: str = ""


class LeakCheck:
    """Collects garbage, attributes findings to tests and reports them."""

    def __init__(
        self, settings: Settings, classifier: Classifier, results: ProcessResults, freezer: Freezer
    ) -> None:
        """Create the check; the caller begins and closes `freezer`."""
        self._settings = settings
        self._classifier = classifier
        self._results = results
        self._freezer = freezer
        self._survivors = Survivors()
        self.never_freed = NeverFreedSearch(settings)
        # By cause: the test whose message contains the card.
        self._shown: dict[str, str] = {}
        # The causes of library findings for which a warning was issued.
        self._warned: set[str] = set()

    def start_watch(self) -> Watch:
        """Start a silent watch with the options of the run."""
        # The budget is unlimited, so that nothing is omitted.
        return cyclewatch.watch(
            devices=self._settings.devices,
            min_bytes=self._settings.min_bytes,
            budget=1.0,
            source_lines=not self._settings.no_source,
        )

    @contextmanager
    def repeated(self, item: pytest.Item, when: str) -> Iterator[Callable[[Finding], bool]]:
        """Make ``item.runtest()`` run the body --cyclewatch-repeat times.

        Yields a function that returns whether at least two runs created the cycle of a finding. A
        doctest runs once, because the first run clears its namespace.
        """
        times = self._settings.repeat
        if when != "call" or times == 1 or isinstance(item, pytest.DoctestItem):
            yield lambda _: True
            return
        runs_with: Counter[str] = Counter()
        original = item.runtest

        def runtest() -> None:
            for _ in range(times):
                with self.start_watch() as watch:
                    original()
                    self._freezer.collect()
                runs_with.update(finding.signature for finding in watch.report().findings)

        # Set on the instance, so that captured output, fixtures and time limits apply as to a
        # single run.
        item.runtest = runtest  # type: ignore[method-assign]
        try:
            yield lambda finding: runs_with[finding.signature] > 1
        finally:
            del item.runtest

    def check_phase(
        self,
        run: TestRun,
        when: str,
        watch: Watch,
        nextitem: pytest.Item | None,
        recurs: Callable[[Finding], bool],
        error: BaseException | None,
    ) -> None:
        """Find the cycles that the phase left as garbage.

        Raises TensorCycle if these cycles fail the test. If the phase itself raised `error`, the
        text of the TensorCycle exception is added to the phase's report instead.
        """
        if when == "teardown" and isinstance(run.item, pytest.Function):
            # Drops the values of torn-down fixtures, as pytest is about to do.
            run.item.funcargs.clear()
        ended = ended_nodes(run.item, nextitem) if when == "teardown" else set()
        findings, freed = self._collect(watch, run.item, ended)
        self._survivors.record(run.item, when)
        own = []
        for finding in findings:
            tests = creators(finding, freed) or {run.item: when}
            is_own = tests.pop(run.item, None) is not None and recurs(finding)
            if is_own:
                own.append(finding)
            self._fail_creators(tests, finding, counted=is_own)
        if when == "call" and run.finds_never_freed and error is None:
            # With --cyclewatch-repeat, one search follows all runs of the body.
            least = min(self._settings.repeat, 2)
            own += [each for each in self.never_freed.find() if each.occurrences >= least]
        asserted = is_failed_assertion(error, run.item)
        new, run.records = self._classifier.classify(
            own,
            run.item,
            run.allowances,
            is_expected=lambda finding: not asserted and run.assertions.cover(finding),
        )
        self._warn_of_libraries(own, new)
        unreported = [finding for finding in new if not run.assertions.cover(finding)]
        if not unreported:
            return
        run.text = self._text(unreported, run.item)
        if error is None and run.fails:
            raise TensorCycle(run.text)
        if error is None:
            self._warn(unreported, run.text)

    def check_released(self, run: TestRun, watch: Watch) -> None:
        """Find cycles that became garbage when pytest dropped its references to the test."""
        findings, _ = self._collect(watch, run.item, set())
        if run.finds_never_freed:
            findings = [*findings, *self.never_freed.find()]
        self._survivors.record(run.item, "teardown")
        if self._settings.scope == "call":
            return
        if run.raised:
            # The exception of the failed or skipped test kept these cycles alive.
            _, records = self._classifier.classify(findings, run.item, run.allowances)
            for record in records:
                record["fails"] = False
            self._results.records += records
            return
        if findings:
            self._report_late(run.item, "teardown", findings)

    def check_everything(self, *, only_if_due: bool = False) -> None:
        """Find older garbage in the whole heap."""
        if only_if_due and not self._survivors.should_check_everything:
            return
        survivors = self._survivors.alive()
        with self.start_watch() as watch:
            self._freezer.collect_everything()
        self._survivors.reset()
        freed = [each for each in survivors if each.owner() is None]
        for finding in watch.report().findings:
            tests = creators(finding, freed)
            self._fail_creators(tests, finding)
            if not tests:
                _, records = self._classifier.classify([finding], None)
                self._results.records += records

    def _collect(
        self, watch: Watch, item: pytest.Item, ended: set[object]
    ) -> tuple[list[Finding], list[Survivor]]:
        # The findings of `watch`, and the survivors of earlier tests that were freed with them.
        _ = watch.stats  # restores our entry in gc.callbacks if the test removed it
        fixtures_survive = self._survivors.reassign_fixtures(ended, item)
        survivors = self._survivors.alive()
        older = self._freezer.collect()
        if fixtures_survive and not older:
            self._freezer.collect_everything()
            older = True
        watch.stop()
        for reason, count in watch.stats.skipped.items():
            self._results.notes.append(f"{item.nodeid}: {reason} ({count})")
        freed = [each for each in survivors if each.owner() is None] if older else []
        return watch.report().findings, freed

    def _warn(self, new: Sequence[Finding], text: str) -> None:
        for finding in new:
            try:
                issue_warning(finding, None)
            except cyclewatch.TensorCycleWarning:
                raise TensorCycle(text) from None  # warnings are errors in this run

    def _fail_creators(
        self, tests: dict[pytest.Item, str], finding: Finding, *, counted: bool = False
    ) -> None:
        # If several tests created the cycle, all of them fail, but only the first is counted.
        for item, when in tests.items():
            self._report_late(item, when, [finding], counted=counted)
            counted = True

    def _report_late(
        self, item: pytest.Item, when: str, findings: list[Finding], *, counted: bool = False
    ) -> None:
        new, records = self._classifier.classify(findings, item, allowances(item))
        if counted:
            records = [uncounted(record) for record in records]
        if new and mode_for(item, self._settings.mode) == "fail":
            ended = f"Found after the test: created in its {when}, became garbage later."
            self._fail_late(item, f"{self._text(new, item)}\n\n{ended}", records)
        else:
            self._results.records += records

    def _fail_late(self, item: pytest.Item, text: str, records: list[CycleRecord]) -> None:
        # The test has already been reported. An additional report of its teardown fails it.
        def fail() -> NoReturn:
            raise LateTensorCycle(text, records)

        call = pytest.CallInfo.from_call(fail, when="teardown")
        report = item.ihook.pytest_runtest_makereport(item=item, call=call)
        if not hasattr(item.config, "workeroutput"):
            item.ihook.pytest_runtest_logreport(report=report)
            return
        # An xdist worker accepts only reports of the test that it is running.
        data = item.config.hook.pytest_report_to_serializable(config=item.config, report=report)
        self._results.late_reports.append(data)

    def _text(self, new: Sequence[Finding], item: pytest.Item) -> str:
        # Only the first test with a cause shows the card.
        folder = self._settings.report
        seen_in: dict[str, str] = {}
        for finding in new:
            cause = self._classifier.cause_of(finding)
            first = self._shown.setdefault(cause, item.nodeid)
            if first != item.nodeid:
                seen_in[finding.signature] = first
        path = str(folder / REPORT_NAME) if folder is not None else None
        return failure_text(new, path, seen_in)

    def _warn_of_libraries(self, findings: Sequence[Finding], new: Sequence[Finding]) -> None:
        for finding in findings:
            cause = self._classifier.cause_of(finding)
            if finding.status == LIBRARY and finding not in new and cause not in self._warned:
                self._warned.add(cause)
                # Does not fail the test, even if warnings are errors in this run.
                with suppress(cyclewatch.TensorCycleWarning):
                    issue_warning(finding, None)


def is_failed_assertion(error: BaseException | None, item: pytest.Item) -> bool:
    """Whether ``assert_no_tensor_cycles()`` failed the phase.

    `error` is the exception that the phase raised. For a ``unittest.TestCase`` no exception is
    raised: pytest stores the errors on the item until the report is created.
    """
    stored = [each.value for each in getattr(item, "_excinfo", None) or ()]
    return any(isinstance(each, cyclewatch.TensorCycleError) for each in (error, *stored))
