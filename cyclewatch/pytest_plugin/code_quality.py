# SPDX-License-Identifier: Apache-2.0
"""Writes new cycles as a code quality report of GitLab, which shows them in the merge request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cyclewatch._native import clean_text, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from cyclewatch.pytest_plugin.records import RecordGroup

_SEVERITIES = {"error": "major", "warning": "minor"}


def write_code_quality(groups: list[RecordGroup], path: Path) -> None:
    """Write one entry for each of `groups` to `path`. Raises OSError."""
    by_cause = sorted(groups, key=lambda group: group.largest["cause"])
    text = json.dumps([_entry(group) for group in by_cause], indent=2) + "\n"
    write_file(path, text.encode(), replace=True)


def _entry(group: RecordGroup) -> dict[str, Any]:
    largest = group.largest
    # GitLab requires a location. A cycle without one is shown at the file of its test.
    test = group.tests[0].partition("::")[0] if group.tests else "."
    known = bool(largest["path"])
    return {
        "description": clean_text(largest["headline"]),
        "check_name": f"cyclewatch/{largest['pattern']}",
        "fingerprint": largest["cause"],
        "severity": _SEVERITIES[group.level],
        "location": {
            "path": clean_text(largest["path"] if known else test),
            "lines": {"begin": largest["line"] if known else 1},
        },
    }
