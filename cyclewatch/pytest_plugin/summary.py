# SPDX-License-Identifier: Apache-2.0
"""Merges the records of all processes, prints the summary and writes the files."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from cyclewatch import Report
from cyclewatch._native import clean_text, format_bytes, load_report
from cyclewatch.pytest_plugin import REPORT_ATTRIBUTE
from cyclewatch.pytest_plugin.code_quality import write_code_quality
from cyclewatch.pytest_plugin.job_summary import add_job_summary
from cyclewatch.pytest_plugin.leak_check import REPORT_NAME
from cyclewatch.pytest_plugin.records import (
    ALLOWED,
    KNOWN,
    NEW,
    CycleRecord,
    ProcessResults,
    RecordGroup,
    grouped,
)
from cyclewatch.pytest_plugin.sarif import write_sarif
from cyclewatch.wording import short_title
from cyclewatch.writing import why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from cyclewatch.pytest_plugin.baseline import BaselineUpdate
    from cyclewatch.pytest_plugin.options import Settings

_MAX_LINES = 20
_INDENT = 11 * " "


class Summary:
    """The summary of a run. Under xdist, only the controller has a summary."""

    def __init__(
        self, settings: Settings, results: ProcessResults, baseline_update: BaselineUpdate | None
    ) -> None:
        """Create the summary of a run that has not started."""
        self._settings = settings
        self._results = results
        self._baseline_update = baseline_update
        self._records: list[CycleRecord] = []
        self._has_checked = False
        self._passed: set[str] = set()
        self._remarks: list[str] = []
        self._failures: list[str] = []  # files that could not be written

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the records of a phase."""
        if not hasattr(report, REPORT_ATTRIBUTE):
            return
        self._has_checked = True
        self._records += getattr(report, REPORT_ATTRIBUTE)
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the results of an xdist worker that has finished."""
        data = getattr(node, "workeroutput", {}).get("cyclewatch")
        if data is None:
            if self._settings.report is not None:
                self._results.notes.append(
                    f"{node.gateway.id} crashed; the report does not include its findings"
                )
            return
        results = ProcessResults(**data)
        self._results.add(results)
        hook = node.config.hook
        for late in results.late_reports:
            report = hook.pytest_report_from_serializable(config=node.config, data=late)
            report.node = node  # as xdist does
            hook.pytest_runtest_logreport(report=report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files; set the exit status if no test has failed."""
        self._records += self._results.records
        self._write_files(session)
        if session.exitstatus != pytest.ExitCode.OK:
            return
        unattributed = any(not record["nodeid"] for record in self._new())
        vanished = self._baseline_update is not None and self._baseline_update.fails
        if vanished or (unattributed and self._settings.mode == "fail"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self._failures:
            # Not a test failure, but a missing file must not go unnoticed.
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _new(self) -> list[CycleRecord]:
        return [record for record in self._records if record["status"] == NEW]

    def _write_files(self, session: pytest.Session) -> None:
        settings = self._settings
        update = self._baseline_update
        if update is not None and settings.baseline is not None:
            lines: list[str] = []
            args = (self._records, self._passed, self._results.collected, session)
            self._write(
                "the baseline", settings.baseline, lambda _: lines.extend(update.apply(*args))
            )
            self._remarks += lines
        if settings.report is not None and self._results.reports:
            path = settings.report / REPORT_NAME
            if self._write("the report", path, self._save_report):
                self._remarks.append(f"report: {path}")
        groups = grouped(self._new())
        if settings.sarif is not None:
            self._write("the SARIF file", settings.sarif, lambda path: write_sarif(groups, path))
        if settings.gitlab is not None:
            self._write(
                "the code quality report",
                settings.gitlab,
                lambda path: write_code_quality(groups, path),
            )
        if self._is_for_github():
            try:
                add_job_summary(groups)
            except OSError as error:
                self._remarks.append(f"the job summary cannot be written: {error.strerror}")

    def _is_for_github(self) -> bool:
        is_github = os.environ.get("GITHUB_ACTIONS") == "true"
        return self._settings.github == "on" or (self._settings.github == "auto" and is_github)

    def _save_report(self, path: Path) -> None:
        reports = [
            load_report(text.encode(), "a worker's report") for text in self._results.reports
        ]
        whole = Report.merge(reports)
        whole.save(path)
        whole.save(path.with_suffix(".json"))

    def _write(self, what: str, path: Path, write: Callable[[Path], None]) -> bool:
        # An error in one file must not prevent the others from being written.
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
        except OSError as error:
            # If a file exists in place of a folder, the system's message is only "File exists".
            why = why_not(path) or error.strerror or error
            self._failures.append(f"{what} {path} cannot be written: {why}")
            return False
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the findings, largest first, and the totals."""
        groups = grouped(self._records)
        remarks = [*self._remarks, *dict.fromkeys(self._results.notes)]
        has_lines = bool(groups or remarks or self._failures)
        if not (self._has_checked or has_lines):
            return  # no test ran, as with --collect-only
        write_line = terminalreporter.write_line
        if has_lines:
            terminalreporter.write_sep("=", "cyclewatch")
        for group in groups[:_MAX_LINES]:
            write_line(_line(group))
            if group.largest["status"] == NEW and len(group.tests) > 1:
                for line in _lines_of_tests(group.tests):
                    write_line(line)
        if len(groups) > _MAX_LINES:
            write_line(f"... and {len(groups) - _MAX_LINES} smaller findings")
        for record in self._new():
            if not record["nodeid"]:
                write_line(f"\nfound after the last test:\n{record['card']}")
        for remark in remarks:
            write_line(clean_text(remark))
        for failure in self._failures:
            write_line(clean_text(failure), red=True)
        write_line(self._count())
        if self._is_for_github():
            for line in _annotations(grouped(self._new())):
                write_line(line)

    def _count(self) -> str:
        by_status: Counter[str] = Counter()
        for record in self._records:
            by_status[record["status"]] += record["occurrences"]
        cycles = by_status.total()
        findings = len({record["cause"] for record in self._records})
        parts = [f"{cycles} cycle" if cycles == 1 else f"{cycles} cycles"]
        if findings != cycles:
            parts[0] += f" ({findings} finding{'' if findings == 1 else 's'})"
        parts.append(format_bytes(sum(record["attributed_bytes"] for record in self._records)))
        parts += [f"{by_status[KNOWN]} known (baseline)", f"{by_status[ALLOWED]} allowed"]
        others = sorted(set(by_status) - {NEW, KNOWN, ALLOWED})
        parts += [f"{by_status[status]} {status}" for status in others]
        return "cyclewatch: " + ", ".join(parts)


def _line(group: RecordGroup) -> str:
    first, tests = group.largest, group.tests
    test = tests[0] if tests else "no single test"
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    times = f" in {group.occurrences} cycles" if group.occurrences > 1 else ""
    reason = f"  [{first['status']}: {first['reason']}]" if first["status"] != NEW else ""
    size = format_bytes(group.retained_bytes)
    line = f"{short_title(first['title'])}  {test}{more}{reason}"
    # The name of a test may contain the value of a parameter.
    return f"{size:>9}{times}  {clean_text(line)}"


def _lines_of_tests(tests: list[str]) -> list[str]:
    # One paragraph for each file: "test_it.py: test_engine, test_trainer".
    by_file: dict[str, list[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        by_file.setdefault(file, []).append(name)
    lines: list[str] = []
    for file, names in by_file.items():
        text = clean_text(f"{file}: {', '.join(names)}")
        lines += textwrap.wrap(text, 100, initial_indent=_INDENT, subsequent_indent=_INDENT)
    rest = len(lines) - _MAX_LINES
    return lines if rest <= 0 else [*lines[:_MAX_LINES], f"{_INDENT}... and {rest} more lines"]


def _annotations(groups: list[RecordGroup]) -> Iterator[str]:
    # GitHub shows each annotation next to its line in the pull request.
    for group in groups:
        record = group.largest
        size = format_bytes(record["retained_bytes"])
        title = _property(f"Tensor cycle: {short_title(record['title'])} keeps {size}")
        path = _property(clean_text(record["path"]))
        file = f"file={path},line={record['line']}," if path else ""
        yield f"::{group.level} {file}title={title}::{_data(record['card'])}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
