# SPDX-License-Identifier: Apache-2.0
"""The public names of the package; loaded when one of them is first used."""

from cyclewatch._native import (
    Collection,
    DeviceMemory,
    Finding,
    FindingPart,
    Owner,
    Pattern,
    ProcessOccurrences,
    Program,
    Reference,
    Report,
    Stats,
    Variant,
    __version__,
)
from cyclewatch.assertions import assert_no_tensor_cycles
from cyclewatch.configuration import ignore, patterns
from cyclewatch.errors import ReportFormatError, TensorCycleError, TensorCycleWarning
from cyclewatch.watches import (
    Watch,
    observe_tensor_cycles,
    register_owner,
    unregister_owner,
    warn_tensor_cycles,
    watch,
)

__all__ = [
    "Collection",
    "DeviceMemory",
    "FindingPart",
    "Finding",
    "Owner",
    "Pattern",
    "Program",
    "Reference",
    "Report",
    "ReportFormatError",
    "ProcessOccurrences",
    "Stats",
    "TensorCycleError",
    "TensorCycleWarning",
    "Variant",
    "Watch",
    "__version__",
    "assert_no_tensor_cycles",
    "ignore",
    "observe_tensor_cycles",
    "patterns",
    "register_owner",
    "unregister_owner",
    "warn_tensor_cycles",
    "watch",
]


def _report_bundle(report: Report, **_: object) -> dict[str, str]:
    from cyclewatch.notebook import report_html

    return {"text/html": report_html(report), "text/plain": report.to_text()}


def _finding_bundle(finding: Finding, **_: object) -> dict[str, str]:
    from cyclewatch.notebook import finding_html

    return {"text/html": finding_html(finding), "text/plain": finding.to_text()}


# Jupyter looks these up on the class.
Report._repr_mimebundle_ = _report_bundle  # type: ignore[attr-defined]
Report._repr_html_ = lambda report: _report_bundle(report)["text/html"]  # type: ignore[attr-defined]
Finding._repr_mimebundle_ = _finding_bundle  # type: ignore[attr-defined]
Finding._repr_html_ = lambda finding: _finding_bundle(finding)["text/html"]  # type: ignore[attr-defined]
