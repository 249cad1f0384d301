# SPDX-License-Identifier: Apache-2.0
"""The report of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclewatch import Report
from cyclewatch.pytest_plugin.loops import REPORT_NAME

if TYPE_CHECKING:
    from pathlib import Path


def write_report(reports: list[Report], folder: Path) -> list[str]:
    """Merge `reports` and write them into `folder` as HTML and JSON. Says where, or why not."""
    if not reports:
        return []
    path = folder / REPORT_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        whole = Report.merge(reports)
        whole.save(path)
        whole.save(path.with_suffix(".json"))
    except OSError as error:
        return [f"the report cannot be written: {error}"]
    return [f"report: {path}"]
