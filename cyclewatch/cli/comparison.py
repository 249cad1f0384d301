# SPDX-License-Identifier: Apache-2.0
"""Compares two reports by signature, for ``diff`` and ``verify``."""

from __future__ import annotations

from typing import NamedTuple

import cyclewatch
from cyclewatch.cli.failures import Failure
from cyclewatch.heap.live_census import Census, Growth
from cyclewatch.wording import reached_bytes


def require_examined(report: cyclewatch.Report, name: str) -> None:
    """Raise Failure unless `report` was examined to its end, so that it may lack findings."""
    if report.missing_ranks:
        ranks = ", ".join(map(str, report.missing_ranks))
        raise Failure(f"{name} lacks the reports of these ranks: {ranks}; merge all reports")
    for process in report.processes:
        if process.unexamined:
            raise Failure(
                f"{name} was not examined to its end (process {process.pid}): it lacks "
                f"{process.unexamined}; record it again with cyclewatch run, which scans at exit, "
                "or end the run with gc.collect()"
            )


class Change(NamedTuple):
    """How one finding changed; bytes and count are 0 for a report that lacks the finding."""

    signature: str
    title: str
    bytes_before: int
    bytes_after: int
    count_before: int
    count_after: int

    @property
    def kind(self) -> str:
        """One of "new", "gone", "grown", "shrunk" and "same"."""
        if self.count_before == 0:
            return "new"
        if self.count_after == 0:
            return "gone"
        before = (self.bytes_before, self.count_before)
        after = (self.bytes_after, self.count_after)
        return "same" if before == after else "grown" if after > before else "shrunk"


def lists_live_tensors(report: cyclewatch.Report) -> bool:
    """Whether the report contains a census, possibly without tensors."""
    return bool(report.censuses or report.live_owners)


def live_growths(before: cyclewatch.Report, after: cyclewatch.Report) -> list[Growth]:
    """The groups of live tensors that have grown; empty unless both reports list live tensors."""
    if not lists_live_tensors(before) or not lists_live_tensors(after):
        return []
    return Census(after.live_owners).diff(Census(before.live_owners))


KINDS = ("new", "grown", "shrunk", "gone", "same")


def compare(before: cyclewatch.Report, after: cyclewatch.Report) -> list[Change]:
    """Return one change per finding, sorted by the difference in bytes, largest first."""
    changes = [_change(old, new) for old, new in _pairs(before, after)]
    return sorted(changes, key=lambda each: (-abs(each.bytes_after - each.bytes_before), each))


def kinds_by_signature(before: cyclewatch.Report, after: cyclewatch.Report) -> dict[str, str]:
    """The kind of change for each signature."""
    kinds = {}
    for old, new in _pairs(before, after):
        kind = _change(old, new).kind
        earlier = old.signatures if old else []
        later = new.signatures if new else []
        kinds.update(dict.fromkeys(earlier, "gone"))
        kinds.update({each: kind if each in earlier else "new" for each in later})
    return kinds


def remaining_variants(before: cyclewatch.Report, after: cyclewatch.Report) -> dict[str, list[str]]:
    """Map each signature that a remaining finding has lost to the signatures it has now."""
    remaining: dict[str, list[str]] = {}
    for old, new in _pairs(before, after):
        for each in old.signatures if old and new else []:
            if new and each not in new.signatures:
                remaining[each] = new.signatures
    return remaining


Pair = tuple["cyclewatch.Finding | None", "cyclewatch.Finding | None"]


def _pairs(before: cyclewatch.Report, after: cyclewatch.Report) -> list[Pair]:
    """Pair the findings that share a signature; None stands for a missing counterpart."""
    left = list(before.findings)
    pairs: list[Pair] = []
    for new in after.findings:
        old = next((each for each in left if _is_same(each, new)), None)
        left = [each for each in left if each is not old]
        pairs.append((old, new))
    return pairs + [(old, None) for old in left]


def _is_same(one: cyclewatch.Finding, other: cyclewatch.Finding) -> bool:
    return not set(one.signatures).isdisjoint(other.signatures)


def _change(old: cyclewatch.Finding | None, new: cyclewatch.Finding | None) -> Change:
    known = new or old
    assert known is not None
    return Change(
        known.signature,
        known.title,
        reached_bytes(old) if old else 0,
        reached_bytes(new) if new else 0,
        old.occurrences if old else 0,
        new.occurrences if new else 0,
    )


def retained_by_cycles(report: cyclewatch.Report) -> int:
    """Bytes of all findings, counting each storage once."""
    return sum(finding.attributed_bytes for finding in report.findings)
