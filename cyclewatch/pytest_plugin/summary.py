# SPDX-License-Identifier: Apache-2.0
"""Gathers the loops of all tests, from all processes, and tells of them when the run is over."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from cyclewatch._native import format_bytes
from cyclewatch.pytest_plugin import github, sarif
from cyclewatch.pytest_plugin.files import CannotWrite
from cyclewatch.pytest_plugin.loops import ALLOWED, CARRIER, KNOWN, NEW, Loop
from cyclewatch.pytest_plugin.ratchet import Ratchet
from cyclewatch.pytest_plugin.reports import write_report
from cyclewatch.wording import short_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch.pytest_plugin.ledger import Ledger
    from cyclewatch.pytest_plugin.options import Settings

# The summary is read in a terminal.
_SHOWN = 20


@dataclass
class Group:
    """All loops of one signature and one verdict."""

    loops: list[Loop] = field(default_factory=list)

    @property
    def signature(self) -> str:
        """What makes them equal."""
        return self.loops[0]["signature"]

    @property
    def verdict(self) -> str:
        """What was said of each."""
        return self.loops[0]["verdict"]

    @property
    def held_bytes(self) -> int:
        """Bytes that all of them kept, bytes shared with other findings included."""
        return sum(loop["held_bytes"] for loop in self.loops)

    @property
    def attributed_bytes(self) -> int:
        """Their part of the total: over all groups, each storage counts once."""
        return sum(loop["attributed_bytes"] for loop in self.loops)

    @property
    def occurrences(self) -> int:
        """How often the loop was made."""
        return sum(loop["occurrences"] for loop in self.loops)

    def line(self) -> str:
        """One line of the summary."""
        first = self.loops[0]
        tests = sorted({loop["nodeid"] for loop in self.loops if loop["nodeid"]})
        where = tests[0] if tests else "no single test"
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        times = f" in {self.occurrences} loops" if self.occurrences > 1 else ""
        reason = f"  [{self.verdict}: {first['reason']}]" if self.verdict != NEW else ""
        held = format_bytes(self.held_bytes)
        return f"{held:>9}{times}  {short_title(first['title'])}  {where}{more}{reason}"


class Summary:
    """Listens to the reports; exists once, also under xdist."""

    def __init__(self, settings: Settings, ledger: Ledger, ratchet: Ratchet | None) -> None:
        """Nothing has run."""
        self._settings = settings
        self._ledger = ledger
        self._ratchet = ratchet
        self._loops: list[Loop] = []
        self._remarks: list[str] = []
        self._has_checked = False
        # What was to be written and was not.
        self._failures: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the loops off the report of a phase."""
        self._loops += getattr(report, CARRIER, [])
        is_checked = hasattr(report, CARRIER)
        self._has_checked |= is_checked
        if self._ratchet is not None and is_checked and report.when == "call" and report.passed:
            self._ratchet.passed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over the ledger of an xdist worker that has finished."""
        data = getattr(node, "workeroutput", {}).get("cyclewatch")
        if data is not None:
            self._ledger.add_data(data)
        elif self._settings.report is not None:
            name = getattr(getattr(node, "gateway", None), "id", "a worker")
            self._ledger.notes.append(f"{name} ended before its time; the report lacks what it saw")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files; fail a run that no test failed for what no test can answer."""
        self._loops += self._ledger.loops
        new = [loop for loop in self._loops if loop["verdict"] == NEW]
        self._write_files(new, session)
        orphans = [loop for loop in new if not loop["nodeid"]]
        fails = bool(orphans) and self._settings.mode == "fail"
        fails |= self._ratchet is not None and self._ratchet.fails
        if session.exitstatus == pytest.ExitCode.OK:
            if fails:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            elif self._failures:
                # No test is to blame, and whoever asked for the file must not take the run for one.
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _write_files(self, new: list[Loop], session: pytest.Session) -> None:
        with self._telling():
            if self._ratchet is not None:
                self._remarks += self._ratchet.settle(self._loops, self._ledger.present, session)
        with self._telling():
            if self._settings.report is not None:
                self._remarks += write_report(self._ledger.reports(), self._settings.report)
        with self._telling():
            if self._settings.sarif is not None:
                sarif.write(new, self._settings.sarif)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        # Each file is tried, whatever became of the others.
        try:
            yield
        except CannotWrite as failure:
            self._failures.append(str(failure))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the loops, heaviest first, and the line that counts them."""
        groups = self._groups()
        remarks = [*self._remarks, *self._ledger.notes]
        if not (self._has_checked or groups or remarks or self._failures):
            return  # of --collect-only, say: that there are no loops is not known
        if groups or remarks or self._failures:
            # Not section(), which would leave an empty line here after --tb=no.
            terminalreporter.write_sep("=", "cyclewatch")
        for group in groups[:_SHOWN]:
            terminalreporter.write_line(group.line())
        if len(groups) > _SHOWN:
            terminalreporter.write_line(f"... and {len(groups) - _SHOWN} lighter ones")
        for loop in self._loops:
            if loop["verdict"] == NEW and not loop["nodeid"]:
                terminalreporter.write_line(f"\nfound after the last test:\n{loop['card']}")
        for remark in remarks:
            terminalreporter.write_line(remark)
        for failure in self._failures:
            terminalreporter.write_line(failure, red=True)
        terminalreporter.write_line(self._count(groups))
        if github.is_wanted(self._settings.github):
            for line in github.workflow_commands(self._loops):
                terminalreporter.write_line(line)

    def _groups(self) -> list[Group]:
        groups: dict[tuple[str, str], Group] = {}
        for loop in self._loops:
            groups.setdefault((loop["signature"], loop["verdict"]), Group()).loops.append(loop)
        return sorted(groups.values(), key=lambda group: group.held_bytes, reverse=True)

    def _count(self, groups: list[Group]) -> str:
        verdicts: Counter[str] = Counter()  # of loops, as often as each was made
        for group in groups:
            verdicts[group.verdict] += group.occurrences
        loops = verdicts.total()
        counted = f"{loops} loops" if loops != 1 else "1 loop"
        findings = len({group.signature for group in groups})
        if findings != loops:
            counted += f" ({findings} findings)" if findings != 1 else " (1 finding)"
        words = [counted, format_bytes(sum(group.attributed_bytes for group in groups))]
        words += [f"{verdicts[KNOWN]} known (baseline)", f"{verdicts[ALLOWED]} allowed"]
        others = sorted(set(verdicts) - {NEW, KNOWN, ALLOWED})
        words += [f"{verdicts[verdict]} {verdict}" for verdict in others]
        return "cyclewatch: " + ", ".join(words)
