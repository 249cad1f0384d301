# SPDX-License-Identifier: Apache-2.0
"""The hooks around each test, in the process that runs it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from cyclewatch import TensorCycleError
from cyclewatch.pytest_plugin.examiner import Examiner
from cyclewatch.pytest_plugin.heap import Heap
from cyclewatch.pytest_plugin.loops import CARRIER
from cyclewatch.pytest_plugin.marks import allowances, mode_for
from cyclewatch.pytest_plugin.repetition import Repetition
from cyclewatch.pytest_plugin.reporting import (
    add_properties,
    first_line,
    point_at_loop,
    shows_one_line,
)
from cyclewatch.pytest_plugin.run import Run
from cyclewatch.pytest_plugin.told import Told
from cyclewatch.pytest_plugin.tracebacks import clear_frames, forget_last_exception
from cyclewatch.pytest_plugin.verdicts import Judge, TensorCycle

if TYPE_CHECKING:
    from cyclewatch import Watch
    from cyclewatch.pytest_plugin.ledger import Ledger
    from cyclewatch.pytest_plugin.options import Settings

# A phase's hook, as pluggy wants a wrapper to be.
Phase = Generator[None, Any, Any]

# After these pytest does not go on with the next test; after anything else that is raised it does.
_ENDS_THE_RUN = (KeyboardInterrupt, pytest.exit.Exception)


class Checker:
    """Begins and ends what the examiner looks at."""

    def __init__(self, settings: Settings, judge: Judge, ledger: Ledger) -> None:
        """Touches nothing before the first test that is to be checked."""
        self._settings = settings
        self._ledger = ledger
        self._heap = Heap(freeze=settings.freeze == "on")
        self._examiner = Examiner(settings, judge, ledger, self._heap)
        self._run: Run | None = None
        # Whether the last test's exception is still kept somewhere.
        self._pinned = False
        self._whole_run: Watch | None = None
        if self._heap.frozen_by_program:
            ledger.notes.append(
                "the program had frozen objects before (gc.freeze), so nothing more was frozen; "
                "each check went over the rest of the heap"
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """After the last test: look once at everything, and leave the heap as it was."""
        try:
            result = yield
            if self._heap.is_open:
                self._examiner.examine_everything()
            return result
        finally:
            self._heap.close()
            if self._whole_run is not None:
                self._whole_run.stop()
                self._ledger.add_report(self._whole_run.report())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> Phase:
        """When pytest has let go of the test: what is garbage only now is still its own."""
        result = yield
        run, self._run = self._run, None
        if run is not None and run.is_here:
            self._examiner.examine_leavings(run)
            if nextitem is None or mode_for(nextitem, self._settings.mode) == "off":
                self._examiner.examine_everything()
                self._heap.close()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Phase:
        """Begin a run, also where a plugin runs a test again, and check its setup."""
        self._run = self._begin(item)
        result = yield from self._checked("setup")
        if self._run is not None and self._run.complaint is not None:
            # Only now: the setup of other plugins must have run, or their teardown stumbles.
            pytest.fail(self._run.complaint, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Phase:
        """Check the test's body."""
        if self._run is not None and self._settings.scope == "call":
            self._heap.begin()
        return (yield from self._checked("call"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> Phase:
        """Check the teardown, and that of the class and the module if they end here."""
        return (yield from self._checked("teardown", nextitem))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hand what was found to whoever reads the report, in this process or another."""
        run = self._run
        if run is None or run.item is not item:
            return (yield)
        loops = run.loops.pop(call.when, [])
        add_properties(item, loops)
        report = yield
        setattr(report, CARRIER, loops)
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, (TensorCycle, TensorCycleError)):
            point_at_loop(report, loops, item.config)
        if error is not None and not isinstance(error, TensorCycle):
            run.raised = self._pinned = True
            if call.when in run.texts:
                text = run.texts[call.when]
                beside = first_line(text) if shows_one_line(item.config) else text
                report.sections.append(("cyclewatch", beside))
            if self._settings.clear_tracebacks:
                run.exceptions.append(error)
        return report

    def _begin(self, item: pytest.Item) -> Run | None:
        mode = mode_for(item, self._settings.mode)
        if mode == "off":
            return None
        run = Run(item, mode == "fail")
        try:
            run.allowances = allowances(item)
        except ValueError as error:
            run.complaint = str(error)
        if self._run is not None:
            clear_frames(self._run.exceptions)  # a plugin runs the test again
        if self._pinned:
            forget_last_exception()
            self._pinned = False
        if self._examiner.is_due:
            self._examiner.examine_everything()
        self._heap.begin()
        if self._settings.report is not None and self._whole_run is None:
            self._whole_run = self._examiner.start_watch()  # older garbage is gone
        return run

    def _checked(self, when: str, nextitem: pytest.Item | None = None) -> Phase:
        run = self._run
        if run is None or (self._settings.scope == "call" and when != "call"):
            return (yield)
        repetition = self._repetition(when)
        run.told = Told()
        watch = self._examiner.start_watch()
        try:
            with repetition.of(run.item), run.told.listening():
                result = yield
        except BaseException as error:
            if not isinstance(error, _ENDS_THE_RUN):
                self._examine(run, when, watch, nextitem, repetition, error)
            watch.stop()
            raise
        self._examine(run, when, watch, nextitem, repetition, None)
        return result

    def _repetition(self, when: str) -> Repetition:
        times = self._settings.repeat if when == "call" else 1
        return Repetition(times, self._heap, self._examiner.start_watch)

    def _examine(
        self,
        run: Run,
        when: str,
        watch: Watch,
        nextitem: pytest.Item | None,
        repetition: Repetition,
        error: BaseException | None,
    ) -> None:
        if not run.is_here:
            return
        if when == "teardown" and isinstance(run.item, pytest.Function):
            # The values of fixtures that are torn down; pytest drops them next.
            run.item.funcargs.clear()
        self._examiner.examine_phase(run, when, watch, nextitem, repetition.recurs, error)
