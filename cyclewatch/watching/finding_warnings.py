# SPDX-License-Identifier: Apache-2.0
"""Issues the warnings of findings, and logs findings and other messages."""

from __future__ import annotations

import sys

from cyclewatch import _native
from cyclewatch.errors import TensorCycleWarning
from cyclewatch.wording import prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cyclewatch._native import Finding, Report

_INFO, _WARNING, _ERROR = 20, 30, 40  # levels of logging, which is imported late
# The file name of warnings whose reference to cut has no known location.
_NO_FILE = "<garbage collection>"


def reported_findings(report: Report) -> list[Finding]:
    """The findings that warnings and the lines at exit are about: no known or ignored ones."""
    return [each for each in report.findings if each.status in ("new", "library")]


def warn(finding: Finding, report_path: str | None, again: bool) -> None:
    """Issue the warning of a finding, and log one line; log the card of a new finding, too."""
    try:
        if not again and "ipykernel" in sys.modules:
            from cyclewatch.notebook import display_finding

            if display_finding(finding):
                return
        sentence = _again_sentence(finding) if again else _native.clean_text(finding.headline)
        _end_line_of_progress_bar()
        _log_finding(finding, report_path, sentence, again)
        issue_warning(finding, report_path, sentence)
    except Exception as error:
        # Runs between two bytecodes of the main thread, so nothing may propagate, not even a
        # warning that is turned into an error.
        log(_ERROR, f"{type(error).__name__}: {error}")


def _log_finding(finding: Finding, report_path: str | None, sentence: str, again: bool) -> None:
    """Log one line at WARNING if the program handles log records, and a new card at INFO.

    Without a handler, logging would print the line to stderr, beside the same warning.
    """
    import logging

    rank = _native.job_rank()[0]
    report = _native.clean_text(report_path) if report_path else None
    fields = {
        "signature": finding.signature,
        "retained_bytes": finding.retained_bytes,
        "rank": str(rank) if rank >= 0 else None,
        "location": finding.cut.location if finding.cut is not None else None,
        "report": report,
    }
    if logging.getLogger("cyclewatch").hasHandlers():
        line = f"{prefix()}{sentence} [{finding.signature}]"
        log(_WARNING, _native.clean_text(line) + (f"; report: {report}" if report else ""), fields)
    if not again:
        log(_INFO, finding.to_text(), fields)


def _end_line_of_progress_bar() -> None:
    """Start a new line on a terminal on which tqdm has left the cursor behind a bar."""
    bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", ())
    if bars and sys.stderr is not None and sys.stderr.isatty():
        print(file=sys.stderr)


def _again_sentence(finding: Finding) -> str:
    """'again: 12.0 GiB in 3,000 cycles since step 40; cut Engine.hook (train.py:12)'."""
    size = _native.format_bytes(finding.retained_bytes + finding.shared_bytes)
    sentence = f"again: {size} in {finding.occurrences:,} cycles"
    steps = [each.first_step for each in finding.by_process if each.first_step is not None]
    sentence += f" since step {min(steps)}" if steps else ""
    return _native.clean_text(f"{sentence}; {finding.remedy}" if finding.remedy else sentence)


def issue_warning(finding: Finding, report_path: str | None, sentence: str | None = None) -> None:
    """Issue the :class:`TensorCycleWarning` of `finding`, or raise it if warnings are errors.

    The message is `sentence`, or by default the finding's headline.
    """
    import warnings

    location = finding.cut.location if finding.cut is not None else None
    path, _, line = (location or "").rpartition(":")
    known = bool(path) and line.isdigit()
    text = sentence or finding.headline
    if finding.status == "library":
        text += f" ({finding.status_reason})"
    warnings.warn_explicit(
        # Class names may contain any character, and the message may be printed on a terminal.
        _native.clean_text(text) + _report_line(report_path),
        TensorCycleWarning,
        filename=path if known else _NO_FILE,
        lineno=int(line) if known else 1,
        # No registry: each finding warns, even if two have the same location.
        registry=None,
    )


def log(level: int, message: str, fields: Mapping[str, object] | None = None) -> None:
    """Log a message with the attributes `fields`; print it to stderr if logging fails."""
    # Imported late: `import cyclewatch` must be fast.
    try:
        import logging

        logging.getLogger("cyclewatch").log(level, "%s", message, extra=fields)
    except Exception:
        # For example, a handler failed, or no file descriptor was left to import logging. The
        # program must not see these errors.
        try:
            print(f"cyclewatch: {message}", file=sys.stderr)
        except Exception:
            return


def _report_line(report_path: str | None) -> str:
    return f"\nreport: {_native.clean_text(report_path)}" if report_path else ""
