# SPDX-License-Identifier: Apache-2.0
"""Formats messages about findings and reachable owners."""

from __future__ import annotations

from cyclewatch import _native
from cyclewatch._native import clean_text, format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cyclewatch._native import Finding, LiveOwner, Report

# The keys in Stats.skipped for findings that are not stored and collections that are not searched.
_TOO_SMALL = "findings below min_bytes"
_NOT_SEARCHED = "collections not searched for tensors: over budget"
_MAX_CARDS = 5  # in a failure message
_MAX_OWNERS = 10  # in a list


def short_title(title: str) -> str:
    """Return the first reference of a cycle: ``Engine._handlers[0] -> ...``."""
    steps: list[str] = []
    for step in title.split(" -> "):
        if steps and step.startswith("["):
            steps[-1] += step
        else:
            steps.append(step)
    return " -> ".join(steps) if len(steps) <= 2 else f"{steps[0]} -> ..."


def one_line(finding: Finding) -> str:
    """Summary for a list of failures: ``Engine._handlers[0] -> ... keeps 4.0 MiB``."""
    title = short_title(clean_text(finding.title))
    return f"{title} keeps {format_bytes(reached_bytes(finding))}"


def reached_bytes(finding: Finding) -> int:
    """Bytes freed once `finding` and all findings that share its memory are fixed."""
    return finding.retained_bytes + finding.shared_bytes


def failure_text(
    findings: Sequence[Finding],
    report_path: str | None = None,
    seen_in: Mapping[str, str] | None = None,
) -> str:
    """A failure message: a self-contained first line, then the cards, largest first.

    `seen_in` maps signatures to the test whose message contains the card of the same cause; this
    message then refers to that test.
    """
    largest = sorted(
        findings,
        key=lambda finding: (reached_bytes(finding), finding.retained_bytes),
        reverse=True,
    )
    first = one_line(largest[0])
    if len(largest) > 1:
        first += f" (and {len(largest) - 1} more)"
    parts = [first]
    for rank, finding in enumerate(largest[:_MAX_CARDS], start=1):
        test = (seen_in or {}).get(finding.signature)
        parts.append(finding.to_text(rank).rstrip() if test is None else _reference(finding, test))
    if len(largest) > _MAX_CARDS:
        parts.append(f"... and {len(largest) - _MAX_CARDS} smaller findings")
    if report_path is not None:
        parts.append(f"report: {report_path}")
    return "\n\n".join(parts)


def _reference(finding: Finding, test: str) -> str:
    headline = clean_text(finding.headline)
    return f"{headline}\nid {finding.signature}; the card is in the failure of {clean_text(test)}"


def prefix() -> str:
    """The start of a line in a log: "cyclewatch: ", or "cyclewatch[rank 3]: " in a rank."""
    rank = _native.job_rank()[0]
    return f"cyclewatch[rank {rank}]: " if rank >= 0 else "cyclewatch: "


def clean_line(report: Report) -> str:
    """One line about a run without new findings: what was watched, and what was not examined."""
    stats = report.stats
    skipped = stats.skipped.get(_NOT_SEARCHED, 0)
    collections = counted(stats.collections, "collection")
    if skipped:
        watched = f"{stats.collections - skipped:,} of {collections} searched within the budget"
    else:
        watched = f"{collections} watched"
    others = len(report.findings)
    large = " of at least min_bytes" if _TOO_SMALL in stats.skipped else ""
    cycles = f"no {'new ' if others else ''}tensor cycle{large} found"
    known = f" ({others} known or ignored)" if others else ""
    gaps = sorted({each.unexamined for each in report.processes if each.unexamined})
    gap = f"; not examined: {clean_text(' and '.join(gaps))}" if gaps else ""
    overhead = 100 * stats.seconds / stats.elapsed if stats.elapsed > 0 else 0.0
    return f"{prefix()}{watched}, {cycles}{known}{gap}, overhead {overhead:.2g} %"


def hidden_line(findings: list[Finding]) -> str:
    """One line about cycles that no collection frees, which are not part of the report."""
    others = len(findings) - 1
    more = f" {others:,} more such finding{'s' * (others != 1)}." if others else ""
    headline = clean_text(findings[0].headline)
    return f"{prefix()}{headline}{more} Use --never-freed for a report with the details."


def counted(number: int, noun: str) -> str:
    """The number and the noun, in the plural if needed."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def owner_lines(owners: Sequence[LiveOwner], omitted: int = 0) -> list[str]:
    """Lines about the first owners, the paths that keep them alive, and where they are allocated.

    `omitted`: the number of groups that `owners` leaves out.
    """
    lines = []
    for owner in owners[:_MAX_OWNERS]:
        each = format_bytes(owner.nbytes // owner.count)
        count = f" ({owner.count} x {each})" if owner.count > 1 else ""
        shape = "" if owner.shape is None else f" {list(owner.shape)}"
        text = clean_text(f"{owner.type}{shape} {owner.dtype or ''}".rstrip())
        lines.append(f"  {format_bytes(owner.nbytes):>9}  {text} on {owner.device}{count}")
        lines += [f"             held by {path}" for path in owner.held_by]
        if owner.allocated_at is not None:
            lines.append(f"             allocated at {clean_text(owner.allocated_at)}")
    omitted += max(0, len(owners) - _MAX_OWNERS)
    if omitted:
        lines.append(f"  and {omitted:,} more groups")
    if owners and all(owner.allocated_at is None for owner in owners):
        lines.append(
            "  To see where they are allocated, run the program with python -X tracemalloc."
        )
    return lines
