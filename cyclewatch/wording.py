# SPDX-License-Identifier: Apache-2.0
"""Texts about findings: a short title, one line, a failure message."""

from __future__ import annotations

from cyclewatch._native import clean_text, format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import Finding

_MAX_CARDS = 5  # in a failure message


def short_title(title: str) -> str:
    """The first reference of a cycle: ``Engine._handlers[0] -> ...``."""
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


def failure_text(findings: Sequence[Finding], report_path: str | None = None) -> str:
    """A failure message: a self-contained first line, then the cards, largest first."""
    largest = sorted(
        findings,
        key=lambda finding: (reached_bytes(finding), finding.retained_bytes),
        reverse=True,
    )
    first = one_line(largest[0])
    if len(largest) > 1:
        first += f" (and {len(largest) - 1} more)"
    parts = [first]
    parts += [
        finding.to_text(rank).rstrip() for rank, finding in enumerate(largest[:_MAX_CARDS], start=1)
    ]
    if len(largest) > _MAX_CARDS:
        parts.append(f"... and {len(largest) - _MAX_CARDS} smaller findings")
    if report_path is not None:
        parts.append(f"report: {report_path}")
    return "\n\n".join(parts)
