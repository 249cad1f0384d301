# SPDX-License-Identifier: Apache-2.0
"""What one process found that no test report carries, and what it has to say besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from cyclewatch import Report
from cyclewatch._native import load_report

if TYPE_CHECKING:
    from cyclewatch.pytest_plugin.loops import Loop


class LedgerData(TypedDict):
    """A ledger as xdist sends it."""

    loops: list[Loop]
    notes: list[str]
    reports: list[str]
    present: list[str]


class Ledger:
    """Loops found after their test was reported, notes for the summary, reports to merge.

    And which of the baseline's tests are present, also where they do not run.
    """

    def __init__(self) -> None:
        """Nothing to tell yet."""
        self.loops: list[Loop] = []
        self.notes: list[str] = []
        self.present: set[str] = set()
        self._reports: list[str] = []

    def add_report(self, report: Report) -> None:
        """Keep the report of this process."""
        self._reports.append(report.to_json())

    def reports(self) -> list[Report]:
        """The reports of all processes."""
        return [load_report(text.encode(), "a worker's report") for text in self._reports]

    def as_data(self) -> LedgerData:
        """For another process's :meth:`add_data`."""
        return {
            "loops": self.loops,
            "notes": self.notes,
            "reports": self._reports,
            "present": sorted(self.present),
        }

    def add_data(self, data: LedgerData) -> None:
        """Take over what a worker had to tell."""
        self.loops += data["loops"]
        self.notes += [note for note in data["notes"] if note not in self.notes]
        self._reports += data["reports"]
        self.present.update(data["present"])
