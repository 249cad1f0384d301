# SPDX-License-Identifier: Apache-2.0
"""Two reports beside each other, by signature: what ``diff`` prints and ``verify`` decides on."""

from __future__ import annotations

from typing import NamedTuple

import cyclewatch


class Change(NamedTuple):
    """What became of one finding; bytes are 0 where it was not found."""

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


KINDS = ("new", "grown", "shrunk", "gone", "same")


def compare(before: cyclewatch.Report, after: cyclewatch.Report) -> list[Change]:
    """One change per signature, the largest difference in bytes first."""
    old = {finding.signature: finding for finding in before.findings}
    new = {finding.signature: finding for finding in after.findings}
    changes = [_change(old.get(key), new.get(key)) for key in {**new, **old}]
    return sorted(changes, key=lambda each: (-abs(each.bytes_after - each.bytes_before), each))


def _change(old: cyclewatch.Finding | None, new: cyclewatch.Finding | None) -> Change:
    known = new or old
    assert known is not None
    return Change(
        known.signature,
        known.title,
        old.held_bytes if old else 0,
        new.held_bytes if new else 0,
        old.occurrences if old else 0,
        new.occurrences if new else 0,
    )


def held_in_loops(report: cyclewatch.Report) -> int:
    """Bytes of all findings together."""
    return sum(finding.held_bytes for finding in report.findings)
