# SPDX-License-Identifier: Apache-2.0
"""Findings in words, where a card alone is not enough: one line, or the text of a failure."""

from __future__ import annotations

from cyclewatch._native import clean_text, format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import Finding

# A failure is read in a terminal: the largest few, and how many more there are.
_CARDS_SHOWN = 5


def short_title(title: str) -> str:
    """The beginning of a cycle, short enough for one line: ``Engine._handlers[0] -> ...``."""
    steps: list[str] = []
    for step in title.split(" -> "):
        if steps and step.startswith("["):
            steps[-1] += step
        else:
            steps.append(step)
    return " -> ".join(steps) if len(steps) <= 2 else f"{steps[0]} -> ..."


def one_line(finding: Finding) -> str:
    """What a list of failures shows of `finding`: ``Engine._handlers[0] -> ... keeps 4.0 MiB``."""
    title = short_title(clean_text(finding.title))
    return f"{title} keeps {format_bytes(reached_bytes(finding))}"


def reached_bytes(finding: Finding) -> int:
    """Bytes that become free once `finding` and all findings that share its memory are fixed."""
    return finding.retained_bytes + finding.shared_bytes


def failure_text(findings: Sequence[Finding], report_path: str | None = None) -> str:
    """Why a test failed: one line that stands alone, then the cards, largest first."""
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
        finding.to_text(rank).rstrip()
        for rank, finding in enumerate(largest[:_CARDS_SHOWN], start=1)
    ]
    if len(largest) > _CARDS_SHOWN:
        parts.append(f"... and {len(largest) - _CARDS_SHOWN} lighter cycles")
    if report_path is not None:
        parts.append(f"report: {report_path}")
    return "\n\n".join(parts)
