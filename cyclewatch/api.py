# SPDX-License-Identifier: Apache-2.0
"""Defines the public names of the package; imported when one of them is first used."""

from __future__ import annotations

import sys

from cyclewatch import distributed
from cyclewatch._native import (
    CensusTime,
    Collection,
    DeviceMemory,
    DeviceRecord,
    Finding,
    FindingPart,
    GenerationTotals,
    GrowingOwner,
    LiveOwner,
    MemoryBreakdown,
    Owner,
    Path,
    PathRoot,
    Pattern,
    ProcessOccurrences,
    Program,
    Reference,
    Report,
    SourceExcerpt,
    Stats,
    Variant,
    __version__,
)
from cyclewatch.account.memory_account import MemoryAccount, memory
from cyclewatch.assertions import assert_no_tensor_cycles
from cyclewatch.errors import ReportFormatError, TensorCycleError, TensorCycleWarning
from cyclewatch.export.metric_table import metrics
from cyclewatch.heap.live_census import Census, Growth, census
from cyclewatch.heap.retention import assert_released, live_owners, why_alive
from cyclewatch.heap.scanning import dead_bytes, never_freed, scan
from cyclewatch.oom.autopsy import oom_autopsy
from cyclewatch.oom.retrying import retry_on_oom
from cyclewatch.settings.configuration import ignore, patterns
from cyclewatch.snapshots.writing import dump_snapshot
from cyclewatch.steps.periodic_collection import collect_at
from cyclewatch.watching.registered_owners import register_owner, unregister_owner
from cyclewatch.watching.watches import (
    Watch,
    observe_tensor_cycles,
    warn_tensor_cycles,
    watch,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Census",
    "Collection",
    "DeviceMemory",
    "DeviceRecord",
    "FindingPart",
    "CensusTime",
    "GenerationTotals",
    "Growth",
    "Finding",
    "GrowingOwner",
    "LiveOwner",
    "MemoryAccount",
    "MemoryBreakdown",
    "Owner",
    "Path",
    "PathRoot",
    "Pattern",
    "Program",
    "Reference",
    "Report",
    "ReportFormatError",
    "ProcessOccurrences",
    "SourceExcerpt",
    "Stats",
    "TensorCycleError",
    "TensorCycleWarning",
    "Variant",
    "Watch",
    "__version__",
    "assert_no_tensor_cycles",
    "assert_released",
    "census",
    "dead_bytes",
    "distributed",
    "collect_at",
    "dump_snapshot",
    "ignore",
    "live_owners",
    "memory",
    "metrics",
    "never_freed",
    "observe_tensor_cycles",
    "oom_autopsy",
    "patterns",
    "register_owner",
    "scan",
    "retry_on_oom",
    "unregister_owner",
    "warn_tensor_cycles",
    "watch",
    "why_alive",
]


def _report_html(report: Report) -> str:
    from cyclewatch.notebook import report_html

    return report_html(report)


def _finding_html(finding: Finding) -> str:
    from cyclewatch.notebook import finding_html

    return finding_html(finding)


def _bundle(value: Any, **_: object) -> dict[str, str]:
    from cyclewatch.notebook import with_cells

    return {"text/html": value._repr_html_(), "text/plain": with_cells(value.to_text())}


# Jupyter looks these up on the class.
Report._repr_html_ = _report_html  # type: ignore[attr-defined]
Finding._repr_html_ = _finding_html  # type: ignore[attr-defined]
Report._repr_mimebundle_ = Finding._repr_mimebundle_ = _bundle  # type: ignore[attr-defined]
if "ipykernel" in sys.modules:
    from cyclewatch.notebook import show_cells

    show_cells()
