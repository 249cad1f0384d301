# SPDX-License-Identifier: Apache-2.0
"""The report of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclewatch import Report
from cyclewatch.pytest_plugin.files import written
from cyclewatch.pytest_plugin.loops import REPORT_NAME

if TYPE_CHECKING:
    from pathlib import Path


def write_report(reports: list[Report], folder: Path) -> list[str]:
    """Merge `reports` and write them into `folder` as HTML and JSON. Says where.

    Raises CannotWrite.
    """
    if not reports:
        return []
    path = folder / REPORT_NAME
    with written("the report", path):
        whole = Report.merge(reports)
        whole.save(path)
        whole.save(path.with_suffix(".json"))
    return [f"report: {path}"]
