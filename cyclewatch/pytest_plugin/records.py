# SPDX-License-Identifier: Apache-2.0
"""Findings as plain data, each with its status: new, known, allowed, expected.

The data is plain because xdist sends it between processes.
"""

from __future__ import annotations

import linecache
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from cyclewatch._native import clean_text, is_user_code
from cyclewatch.assertions import listeners
from cyclewatch.pytest_plugin.causes import cause_of
from cyclewatch.pytest_plugin.marks import mode_for
from cyclewatch.wording import reached_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pytest

    from cyclewatch import Finding, Reference
    from cyclewatch.pytest_plugin.baseline import Baseline
    from cyclewatch.pytest_plugin.marks import Allowance
    from cyclewatch.pytest_plugin.options import Settings

# The statuses of a record, in addition to those of a finding. Only NEW fails a test.
NEW = "new"
LIBRARY = "library"
KNOWN = "known"
ALLOWED = "allowed"
EXPECTED = "expected"  # the test caught the error of an assertion that reported the finding

_BENIGN = "benign"
_UNDONE_PATCH = "monkeypatch.setattr() on an instance stores the method when pytest undoes it"
_EXPECTED_REASON = "the test caught the error from assert_no_tensor_cycles()"


class SourceRecord(TypedDict):
    """A line of source code, and the lines around it."""

    line: str
    first_line: int
    lines: list[str]
    # The first column of the expression and the column after it, both from 1; None if unknown.
    columns: tuple[int, int] | None


class CycleRecord(TypedDict):
    """One finding in one phase of one test."""

    signature: str
    # The code that stores the references to cut; see causes.py.
    cause: str
    title: str
    pattern: str
    headline: str
    card: str
    # Includes all bytes shared with other findings. attributed_bytes counts each storage once.
    retained_bytes: int
    attributed_bytes: int
    occurrences: int
    # The occurrences by signature. A finding that merges several classes has several signatures.
    signatures: dict[str, int]
    status: str
    reason: str
    # Whether a new finding fails the test; otherwise it is only a warning.
    fails: bool
    # The test; empty if it is unknown.
    nodeid: str
    # The location of the reference to cut if it is in user code, otherwise the test's location.
    path: str
    line: int
    source: SourceRecord | None


def uncounted(record: CycleRecord) -> CycleRecord:
    """A copy of `record` with zero sizes and counts, for another test that created the cycle."""
    copy = record.copy()
    copy["retained_bytes"] = copy["attributed_bytes"] = copy["occurrences"] = 0
    copy["signatures"] = {}
    return copy


@dataclass
class RecordGroup:
    """Records with the same cause and the same status."""

    records: list[CycleRecord] = field(default_factory=list)

    @property
    def largest(self) -> CycleRecord:
        """The record that represents the group in the summary."""
        return max(self.records, key=lambda record: record["retained_bytes"])

    @property
    def tests(self) -> list[str]:
        """The tests that created the cycle, sorted."""
        return sorted({record["nodeid"] for record in self.records if record["nodeid"]})

    @property
    def level(self) -> str:
        """ "error" if the cycle fails a test, otherwise "warning"."""
        return "error" if any(record["fails"] for record in self.records) else "warning"

    @property
    def retained_bytes(self) -> int:
        """Retained bytes, including bytes shared with other findings."""
        return sum(record["retained_bytes"] for record in self.records)

    @property
    def occurrences(self) -> int:
        """How often the cycle was created."""
        return sum(record["occurrences"] for record in self.records)


def grouped(records: Iterable[CycleRecord]) -> list[RecordGroup]:
    """`records` in groups, largest first."""
    groups: dict[tuple[str, str], RecordGroup] = {}
    for record in records:
        key = (record["cause"], record["status"])
        groups.setdefault(key, RecordGroup()).records.append(record)
    return sorted(groups.values(), key=lambda group: group.retained_bytes, reverse=True)


@dataclass
class ProcessResults:
    """Results of a process that are not in its test reports; xdist workers send them separately."""

    records: list[CycleRecord] = field(default_factory=list)
    # Additional, serialized reports of tests that have already been reported.
    late_reports: list[dict[str, Any]] = field(default_factory=list)
    # Lines for the summary.
    notes: list[str] = field(default_factory=list)
    # The tests of the baseline that were collected, whether or not they ran.
    collected: list[str] = field(default_factory=list)
    # The reports for --cyclewatch-report, as JSON.
    reports: list[str] = field(default_factory=list)

    def add(self, other: ProcessResults) -> None:
        """Append the results of another process."""
        self.records += other.records
        self.notes += other.notes
        self.collected += other.collected
        self.reports += other.reports


class ReportedAssertions:
    """The cycles that ``assert_no_tensor_cycles()`` reported in one phase."""

    def __init__(self) -> None:
        """Create an empty record."""
        self._occurrences: Counter[str] = Counter()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record every error that an assertion raises, on any thread."""
        listeners.append(self._add)
        try:
            yield
        finally:
            listeners.remove(self._add)

    def cover(self, finding: Finding) -> bool:
        """Whether assertions reported all occurrences of `finding`."""
        counts = _occurrences_by_signature(finding)
        return all(self._occurrences[signature] >= count for signature, count in counts.items())

    def _add(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self._occurrences.update(_occurrences_by_signature(finding))


class Classifier:
    """Determines the status of findings from the baseline, the assertions and the marks."""

    def __init__(self, settings: Settings, baseline: Baseline | None, root: Path) -> None:
        """Create a classifier; paths in records are relative to `root`."""
        self._mode = settings.mode
        self._libraries_fail = settings.libraries == "fail"
        self._entries = baseline.entries if baseline is not None else {}
        self._root = root

    def classify(
        self,
        findings: Sequence[Finding],
        item: pytest.Item | None,
        allowances: Sequence[Allowance] = (),
        is_expected: Callable[[Finding], bool] = lambda _: False,
    ) -> tuple[list[Finding], list[CycleRecord]]:
        """Return the new findings, and a record of each finding in `findings`, new or not."""
        statuses: dict[str, tuple[str, str]] = {}
        unsettled: list[Finding] = []
        for finding in findings:
            ids = [self.cause_of(finding), *finding.signatures]
            known = [self._entries[each] for each in ids if each in self._entries]
            if finding.status not in self._unsettled:
                statuses[finding.signature] = (finding.status, finding.status_reason)
            elif known:
                statuses[finding.signature] = (KNOWN, known[0].reason)
            elif item is not None and _is_undone_patch(finding, item):
                statuses[finding.signature] = (_BENIGN, _UNDONE_PATCH)
            elif is_expected(finding):
                statuses[finding.signature] = (EXPECTED, _EXPECTED_REASON)
            else:
                unsettled.append(finding)
        for allowance in allowances:
            for finding in allowance.allowed(unsettled):
                statuses.setdefault(finding.signature, (ALLOWED, allowance.reason))
        new = [finding for finding in unsettled if finding.signature not in statuses]
        records = [
            self._record(finding, *statuses.get(finding.signature, (NEW, "")), item)
            for finding in findings
        ]
        return new, records

    def cause_of(self, finding: Finding) -> str:
        """The id of the code that stores the references to cut."""
        return cause_of(finding, self._root)

    @property
    def _unsettled(self) -> tuple[str, ...]:
        return (NEW, LIBRARY) if self._libraries_fail else (NEW,)

    def _record(
        self, finding: Finding, status: str, reason: str, item: pytest.Item | None
    ) -> CycleRecord:
        path, line, source = self._location(finding, item)
        mode = self._mode if item is None else mode_for(item, self._mode)
        return CycleRecord(
            signature=finding.signature,
            cause=self.cause_of(finding),
            # Class names may contain any character. They are printed on terminals and in
            # annotations.
            title=clean_text(finding.title),
            pattern=finding.pattern,
            headline=clean_text(finding.headline),
            card=finding.to_text(),
            retained_bytes=reached_bytes(finding),
            attributed_bytes=finding.attributed_bytes,
            occurrences=finding.occurrences,
            signatures=_occurrences_by_signature(finding),
            status=status,
            reason=clean_text(reason),
            fails=mode == "fail",
            nodeid=item.nodeid if item is not None else "",
            path=path,
            line=line,
            source=source,
        )

    def _location(
        self, finding: Finding, item: pytest.Item | None
    ) -> tuple[str, int, SourceRecord | None]:
        for reference in [*finding.cuts, *finding.alternatives, *finding.cycle]:
            name, _, line = (reference.location or "").rpartition(":")
            path = Path(name)
            is_users = path.is_relative_to(self._root) and is_user_code(name)
            if name and line.isdigit() and is_users:
                return path.relative_to(self._root).as_posix(), int(line), _source(reference)
        if item is None:
            return "", 0, None
        file, number, _ = item.location
        return Path(file).as_posix(), (number or 0) + 1, None


def _is_undone_patch(finding: Finding, item: pytest.Item) -> bool:
    """Whether the cycle is an instance that stores its own method without an assignment.

    Until pytest 9, the fixture ``monkeypatch`` undoes ``setattr(instance, "method", ...)`` by
    storing the bound method.
    """
    if "monkeypatch" not in getattr(item, "fixturenames", ()) or len(finding.cycle) != 2:
        return False
    methods = [each.holder for each in finding.cycle if each.label == "__self__"]
    return (
        len(finding.cuts) == 1
        and any(finding.cuts[0].label == f".{method.rpartition('.')[2]}" for method in methods)
        and _is_set_by_call(finding.cuts[0])
    )


def _is_set_by_call(reference: Reference) -> bool:
    # The location is a call that receives the attribute's name, if no line assigns the attribute.
    path, _, line = (reference.location or "").rpartition(":")
    return not line.isdigit() or "setattr(" in linecache.getline(path, int(line))


def _source(reference: Reference) -> SourceRecord | None:
    source = reference.source
    if source is None:
        return None
    return SourceRecord(
        line=source.lines[source.line - source.first_line],
        first_line=source.first_line,
        lines=source.lines,
        columns=source.columns,
    )


def _occurrences_by_signature(finding: Finding) -> dict[str, int]:
    counts = {variant.signature: variant.occurrences for variant in finding.variants}
    return counts or {finding.signature: finding.occurrences}
