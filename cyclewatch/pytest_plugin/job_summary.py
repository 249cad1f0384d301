# SPDX-License-Identifier: Apache-2.0
"""Adds the new cycles to the summary page of a GitHub Actions job, as Markdown."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING

from cyclewatch._native import clean_text, format_bytes
from cyclewatch.wording import short_title

if TYPE_CHECKING:
    from cyclewatch.pytest_plugin.records import RecordGroup

# GitHub rejects a summary of more than 1 MiB. A card has at most 25 lines.
_MAX_FINDINGS = 50


def add_job_summary(groups: list[RecordGroup]) -> None:
    """Append `groups` to the file GITHUB_STEP_SUMMARY, if there are any. Raises OSError."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path and groups:
        # Other steps and tools append to the same file.
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as summary:
            summary.write(job_summary(groups))


def job_summary(groups: list[RecordGroup]) -> str:
    """One foldable section for each of `groups`, with the card of its largest cycle.

    Names from the program are escaped, so that they cannot become markup.
    """
    number = len(groups)
    parts = [f"### cyclewatch: {number} tensor cycle{'s' * (number != 1)}\n"]
    for group in groups[:_MAX_FINDINGS]:
        record = group.largest
        size = format_bytes(group.retained_bytes)
        where = f" in {record['path']}:{record['line']}" if record["path"] else ""
        card = "\n".join(map(clean_text, record["card"].split("\n")))
        title = clean_text(f"{size}: {short_title(record['title'])}{where}")
        parts.append(
            f"<details><summary>{html.escape(title)}</summary>\n\n"
            f"<pre>{html.escape(card)}</pre>\n\n</details>\n"
        )
    if number > _MAX_FINDINGS:
        parts.append(f"... and {number - _MAX_FINDINGS} smaller findings\n")
    return "\n".join(parts) + "\n"
