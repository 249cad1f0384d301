# SPDX-License-Identifier: Apache-2.0
"""The hooks around each test, in the process that runs it."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Generator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from cyclewatch import TensorCycleError
from cyclewatch.oom.errors import exception_chain
from cyclewatch.pytest_plugin import REPORT_ATTRIBUTE
from cyclewatch.pytest_plugin.freezer import Freezer
from cyclewatch.pytest_plugin.leak_check import LateTensorCycle, LeakCheck, TensorCycle, TestRun
from cyclewatch.pytest_plugin.marks import allowances, finds_never_freed, mode_for
from cyclewatch.pytest_plugin.records import NEW, Classifier, ReportedAssertions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cyclewatch import Watch
    from cyclewatch.pytest_plugin.options import Settings
    from cyclewatch.pytest_plugin.records import CycleRecord, ProcessResults

# The return type that pluggy expects of a hook wrapper, here the wrapper for a phase.
Phase = Generator[None, Any, Any]


class TestHooks:
    """Begins and ends the leak check of each phase."""

    def __init__(
        self,
        settings: Settings,
        classifier: Classifier,
        results: ProcessResults,
        baseline_tests: Collection[str],
    ) -> None:
        """Create the hooks. Freezing and watching begin with the first checked test."""
        self._settings = settings
        self._results = results
        self._baseline_tests = baseline_tests
        self._freezer = Freezer(enabled=settings.freeze == "on")
        self._check = LeakCheck(settings, classifier, results, self._freezer)
        self._run: TestRun | None = None
        self._whole_run: Watch | None = None
        if self._freezer.frozen_by_program:
            results.notes.append(
                "the program has frozen objects (gc.freeze), so cyclewatch did not freeze any; "
                "each check examined all unfrozen objects"
            )

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Record which tests in the baseline were collected, before any are deselected."""
        if item.nodeid in self._baseline_tests:
            self._results.collected.append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test: check the whole heap, unfreeze, and send a worker's results."""
        try:
            result = yield
            if self._freezer.is_open:
                self._check.check_everything()
            return result
        finally:
            self._freezer.close()
            if self._whole_run is not None:
                self._whole_run.stop()
                self._results.reports.append(self._whole_run.report().to_json())
            if hasattr(session.config, "workeroutput"):
                session.config.workeroutput["cyclewatch"] = asdict(self._results)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> Phase:
        """Check again after pytest has dropped its references to the test.

        If the next test is not checked, also check the whole heap and unfreeze.
        """
        result = yield
        run, self._run = self._run, None
        if run is not None:
            with self._check.start_watch() as watch:
                if self._settings.clear_tracebacks:
                    clear_frames(run.exceptions)
                run.exceptions.clear()
                self._check.check_released(run, watch)
            if nextitem is not None and mode_for(nextitem, self._settings.mode) == "off":
                self._check.check_everything()
                self._freezer.close()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Phase:
        """Begin a run of the test, and check its setup. Other plugins may run the test again."""
        self._run = self._begin(item)
        error_message = ""
        if self._run is not None:
            try:
                self._run.allowances = allowances(item)
                self._run.finds_never_freed = finds_never_freed(item, self._settings.never_freed)
                self._check.never_freed.begin(self._run.finds_never_freed)
            except (ValueError, RuntimeError) as error:
                error_message = str(error)
        result = yield from self._checked("setup")
        if error_message:
            # Fails only now, because other plugins expect their setup to run before their teardown.
            pytest.fail(error_message, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Phase:
        """Check the test's body."""
        if self._run is not None and self._settings.scope == "call":
            self._freezer.begin()
        return (yield from self._checked("call"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> Phase:
        """Check the teardown of the test, and of each class or module that ends with it."""
        return (yield from self._checked("teardown", nextitem))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the records to the report, which xdist may send to another process."""
        run = self._run if self._run is not None and self._run.item is item else None
        text = ""
        if call.excinfo is not None and isinstance(call.excinfo.value, LateTensorCycle):
            records = call.excinfo.value.records
        elif run is not None:
            records, run.records = run.records, []
            text, run.text = run.text, ""
        else:
            return (yield)
        for record in records:
            value = f"{record['signature']} {record['retained_bytes']} bytes: {record['title']}"
            item.user_properties.append((f"cyclewatch.{record['status']}", value))
        report = yield
        setattr(report, REPORT_ATTRIBUTE, records)
        # Read only now: for a unittest.TestCase, pytest sets `call.excinfo` as it makes the report.
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, (TensorCycle, TensorCycleError)):
            point_at_cycle(report, records, str(error), item.config)
        if run is not None and error is not None and not isinstance(error, TensorCycle):
            run.raised = True
            if text:
                report.sections.append(("cyclewatch", text))
            # pytest drops the exception of a skipped test before or during the teardown. The
            # garbage would then be attributed to the teardown.
            run.exceptions.append(error)
        return report

    def _begin(self, item: pytest.Item) -> TestRun | None:
        mode = mode_for(item, self._settings.mode)
        if mode == "off":
            return None
        forget_last_exception()
        self._check.check_everything(only_if_due=True)
        self._freezer.begin()
        if self._settings.report is not None and self._whole_run is None:
            self._whole_run = self._check.start_watch()  # older garbage is gone
        return TestRun(item, fails=mode == "fail")

    def _checked(self, when: str, nextitem: pytest.Item | None = None) -> Phase:
        run = self._run
        if run is None or (self._settings.scope == "call" and when != "call"):
            return (yield)
        run.assertions = ReportedAssertions()
        watch = self._check.start_watch()
        with self._check.repeated(run.item, when) as recurs:
            try:
                with run.assertions.listening():
                    result = yield
            except BaseException as error:
                self._check.check_phase(run, when, watch, nextitem, recurs, error)
                raise
        self._check.check_phase(run, when, watch, nextitem, recurs, None)
        return result


def point_at_cycle(
    report: pytest.TestReport, records: Sequence[CycleRecord], text: str, config: pytest.Config
) -> None:
    """Name the cycle, not this plugin, in the one-line description of the failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    new = [record for record in records if record["status"] == NEW]
    if crash is None or not new:
        return
    largest = max(new, key=lambda record: record["retained_bytes"])
    # In CI and with -vv, pytest's list of failures would show the whole message.
    crash.message = text.partition("\n")[0]
    # pytest expects an absolute path.
    crash.path = os.path.normpath(config.rootpath / largest["path"])
    crash.lineno = largest["line"]


def forget_last_exception() -> None:
    """Delete the exception of the last failed test, which pytest keeps for debugging."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)


def clear_frames(exceptions: Iterable[BaseException]) -> None:
    """Clear the frames of `exceptions`, their causes and contexts, and members of exception groups.

    Running frames are not cleared. The exceptions and the line numbers in their tracebacks do not
    change, so they are printed as before.
    """
    for exception in exception_chain(*exceptions):
        traceback = exception.__traceback__
        while traceback is not None:
            _clear(traceback.tb_frame)
            traceback = traceback.tb_next


def _clear(frame: Any) -> None:
    with contextlib.suppress(RuntimeError):
        frame.clear()
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            # Before 3.13, reading the locals (as pytest does) leaves a copy in the frame. Reading
            # the locals again updates this copy.
            _ = frame.f_locals
