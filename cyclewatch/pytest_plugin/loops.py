# SPDX-License-Identifier: Apache-2.0
"""What the plugin keeps of a finding: plain data, because xdist sends it between processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from cyclewatch._native import clean_text
from cyclewatch.wording import reached_bytes

if TYPE_CHECKING:
    import pytest

    from cyclewatch import Finding

# Stands for the whole run in the folder of --cyclewatch-report.
REPORT_NAME = "cyclewatch.html"

# The attribute of a test report that carries the loops of its phase.
CARRIER = "cyclewatch_loops"

# What a loop may be, besides the standings that cyclewatch itself gives. Only NEW fails a test.
NEW = "new"
KNOWN = "known"
ALLOWED = "allowed"
# The test was told of it by an assertion of its own, and went on.
EXPECTED = "expected"


class Loop(TypedDict):
    """One finding in one phase of one test."""

    signature: str
    title: str
    pattern: str
    headline: str
    card: str
    # Shared bytes included; of attributed bytes, each storage counts in one loop only.
    held_bytes: int
    attributed_bytes: int
    occurrences: int
    # How many of the occurrences have each of the finding's signatures.
    signatures: dict[str, int]
    verdict: str
    reason: str
    # The test and its phase; an empty nodeid means that it could not be told.
    nodeid: str
    when: str
    # Where to look: the reference to cut if that is the user's code, else the test.
    path: str
    line: int


def loop_of(
    finding: Finding, verdict: str, reason: str, item: pytest.Item | None, when: str, root: Path
) -> Loop:
    """`finding` as plain data."""
    path, line = _place(finding, item, root)
    return Loop(
        signature=finding.signature,
        # Names go to terminals and into annotations: a class can have any.
        title=clean_text(finding.title),
        pattern=finding.pattern,
        headline=clean_text(finding.headline),
        card=finding.to_text(),
        held_bytes=reached_bytes(finding),
        attributed_bytes=finding.attributed_bytes,
        occurrences=finding.occurrences,
        signatures=occurrences_by_signature(finding),
        verdict=verdict,
        reason=reason,
        nodeid=item.nodeid if item is not None else "",
        when=when,
        path=path,
        line=line,
    )


def occurrences_by_signature(finding: Finding) -> dict[str, int]:
    """How many occurrences of `finding` have each of its signatures."""
    counts = {variant.signature: variant.occurrences for variant in finding.variants}
    return counts or {finding.signature: finding.occurrences}


def keep_part(loop: Loop, start: int, end: int, whole: int) -> None:
    """Leave `loop` with what lies from `start` to `end` of `whole`; other records have the rest."""
    held, attributed, times = loop["held_bytes"], loop["attributed_bytes"], loop["occurrences"]
    loop["held_bytes"] = held * end // whole - held * start // whole
    loop["attributed_bytes"] = attributed * end // whole - attributed * start // whole
    loop["occurrences"] = max(1, times * end // whole - times * start // whole)
    loop["signatures"] = {
        signature: max(1, count * end // whole - count * start // whole)
        for signature, count in loop["signatures"].items()
    }


def _place(finding: Finding, item: pytest.Item | None, root: Path) -> tuple[str, int]:
    references = [*finding.cuts, *finding.alternatives, *finding.loop]
    for reference in references:
        path, _, line = (reference.location or "").rpartition(":")
        if path and line.isdigit() and _is_users(Path(path), root):
            return Path(path).relative_to(root).as_posix(), int(line)
    if item is None:
        return "", 0
    path, number, _ = item.location
    return Path(path).as_posix(), (number or 0) + 1


def _is_users(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and not {"site-packages", "dist-packages"} & set(path.parts)
