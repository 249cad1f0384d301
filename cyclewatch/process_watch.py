# SPDX-License-Identifier: Apache-2.0
"""A watch over a whole, unmodified program, for ``cyclewatch run`` and CYCLEWATCH=1.

Prints nothing while the program runs, except with --warn. ``cyclewatch run`` always prints one line
at exit, except with --quiet; CYCLEWATCH=1 prints only if there are findings.
"""

from __future__ import annotations

import atexit
import os
import sys

from cyclewatch import _native
from cyclewatch.heap import collecting
from cyclewatch.oom.autopsy import oom_autopsy, report_failed_program
from cyclewatch.proofs.torch_layout import require_gil, torch_layout
from cyclewatch.ranks.exit_gathering import gather_at_exit
from cyclewatch.settings.table import PYTEST, RUN, setting_of
from cyclewatch.steps.optimizer_steps import count_optimizer_steps
from cyclewatch.watching import finding_warnings, watches
from cyclewatch.watching.workers import WorkerEnd, is_worker
from cyclewatch.wording import clean_line, hidden_line, prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cyclewatch._native import Finding, GrowingOwner, LiveOwner
    from cyclewatch.account.memory_account import MemoryAccount

FAILED = 1  # exit status with --fail

# With more objects, an account of the memory would delay the exit by more than about a second.
_MOST_OBJECTS = 1_000_000

# The share of wall time that periodic calls may take unless --budget was given.
_TIMER_SHARE = 0.1


class ProcessWatch:
    """A running watch, and its exit handler."""

    def __init__(self, settings: Mapping[str, Any], script: str, is_run: bool) -> None:
        """Watch this process until it exits.

        Args:
            settings: A value for each of the settings of ``cyclewatch run``.
            script: The program name to use in the report's file name.
            is_run: Whether ``cyclewatch run`` started this process.

        Raises:
            ValueError: A setting is invalid.
            RuntimeError: `never_freed` is set on a free-threaded build, which is not supported.
        """
        if settings["never_freed"]:
            require_gil()
        self._settings = settings
        self._process = os.getpid()
        self._is_run = is_run
        self._last_warned: tuple[str, int] | None = None  # the signature and the number of cycles
        self._finished = 0  # the id of the process that has finished
        folder, name, formats = _report_location(settings["output"], settings["format"], script)
        self._is_named = bool(name)
        if name and is_worker():
            name += f"-{os.getpid()}"  # the parent writes the report of that name
        warn = settings["warn"]
        self._watch = watches.start(
            settings["devices"],
            formats=formats,
            report_dir=folder,
            report_name=name,
            replace_report=settings["force"],
            clean_report=True,
            exit_scan=not settings["no_exit_scan"],
            min_bytes=settings["min_bytes"],
            budget=settings["budget"],
            source_lines=not settings["no_source"],
            scan_every=0 if settings["scan_every"] == 0 else None,
            repeat=settings["repeat"],
            steps=settings["steps"],
            follow_steps=True,
            record_history=settings["record_history"],
            snapshot=f"{folder}/{name or _native.report_stem()}.pickle"
            if settings["snapshot"]
            else None,
            on_finding=self._warn if warn else None,
            on_log=finding_warnings.log if warn else None,
            autopsy=None if settings["no_oom"] else oom_autopsy(report_dir=folder),
        )
        if settings["steps"] is not None:
            count_optimizer_steps()
        if settings["fail"]:
            _native.offer_failure()
        self._start_timers()
        self._worker_end = WorkerEnd(self._finish)
        os.register_at_fork(after_in_child=self._in_child)
        # Handlers run in reverse order, so this one runs after the program's handlers.
        atexit.register(self._finish)

    def _warn(self, finding: Finding, report_path: str | None, again: bool) -> None:
        self._last_warned = (finding.signature, finding.occurrences)
        finding_warnings.warn(finding, report_path, again)

    def _in_child(self) -> None:
        if not self._settings["follow_fork"]:
            self._watch.stop()
        else:
            self._start_timers()

    def _start_timers(self) -> None:
        settings = self._settings
        native = self._watch._native_watch
        budget = settings["budget"]
        share = budget if budget != setting_of("budget", RUN).default else _TIMER_SHARE
        for setting, call in (
            ("collect_every", collecting.GC_COLLECT),
            ("scan_every", native.scan_if_not_collected),
            ("census_every", self._take_census),
        ):
            if settings[setting]:
                _native.call_every(settings[setting], share, call)

    def _take_census(self) -> None:
        """Also add an account, so that a page that follows the report shows it."""
        self._watch._native_watch.take_census()
        self._record_memory("request")

    def _finish(self) -> None:
        if self._finished == os.getpid():
            return  # a worker that runs both its finalizers and its exit handlers
        self._finished = os.getpid()
        self._finish_watch()
        is_quiet = self._settings["quiet"]
        paths = gather_at_exit(
            self._watch, self._settings["gather"], is_every_rank_watched=True, is_quiet=is_quiet
        )
        for path in paths if not is_quiet else ():
            _print(f"report of all ranks: {_native.clean_text(path)}")

    def _finish_watch(self) -> None:
        _native.stop_calls()
        report_failed_program()
        if self._watch.active and self._settings["collect_at_exit"]:
            collecting.collect()
        self._watch._native_watch.scan_at_end()
        is_child = os.getpid() != self._process
        account = None
        with collecting.Pause():  # a collection over the budget would not be examined
            if self._watch.active and self._settings["never_freed"]:
                # No step follows, so nothing needs to settle.
                self._watch._native_watch.find_never_freed(torch_layout(), 0)
            # Takes too long for each of many workers.
            if self._watch.active and not is_child and not self._settings["no_exit_scan"]:
                account = self._record_memory("end")
            self._watch.stop()
        self._print_failures()
        if is_child and not self._settings["follow_fork"]:
            return
        report = self._watch.report()
        findings = finding_warnings.reported_findings(report)
        if self._settings["fail"] and any(map(_fails, findings)):
            _native.fail(FAILED)
        if self._settings["quiet"]:
            return
        known = {each.signature for each in report.findings}
        hidden = [
            each
            for each in ([] if account is None else account.findings)
            if each.collected == "uncollectable" and each.signature not in known
        ]
        if findings or report.growing:
            self._print_findings(findings, report.growing)
            if hidden:
                _print(hidden_line(hidden))
        elif hidden:
            self._print_with_paths(hidden_line(hidden), self._watch.report_paths)
        elif not is_child and not is_worker() and (self._is_run or self._is_named):
            self._print_with_paths(clean_line(report) + self._unwatched(), self._watch.report_paths)
            if self._settings["never_freed"] and account is not None:
                self._print_held_by_c_code(account.holders)
        self._print_snapshot()

    def _unwatched(self) -> str:
        """Say that child processes are not watched if they have done most of the work."""
        import resource

        own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        if not self._is_run or children.ru_utime <= own.ru_utime:
            return ""
        return (
            "; not watched: the processes that the program started (CYCLEWATCH=1 watches those "
            "that run Python)"
        )

    def _print_held_by_c_code(self, holders: list[LiveOwner]) -> None:
        from cyclewatch.heap.scanning import held_by_c_code

        if sentence := held_by_c_code(holders):
            _print(f"{prefix()}{sentence}")

    def _record_memory(self, occasion: str) -> MemoryAccount | None:
        """Add an account to the report."""
        import gc

        from cyclewatch.account import memory_account

        try:
            if len(gc.get_objects()) > _MOST_OBJECTS:
                return None
            account = memory_account.measure()
            memory_account.record(account, occasion, self._watch)
        except Exception:  # for example, other threads created objects during every attempt
            return None
        return account

    def _print_snapshot(self) -> None:
        recording = self._watch._snapshot
        if recording is not None and recording.written is not None:
            path = _native.clean_text(recording.written)
            _print(f"memory snapshot: {path} (cyclewatch snapshot)")
        elif recording is not None and recording.failure and not self._settings["warn"]:
            _print(_native.clean_text(f"{prefix()}{recording.failure}"))

    def _print_failures(self) -> None:
        if self._settings["warn"]:
            return  # logged already
        # The user expects a report named by --output, so --quiet does not suppress these errors.
        if (self._is_named and os.getpid() == self._process) or not self._settings["quiet"]:
            for sentence in self._watch._native_watch.report_failures():
                self._print_failure(sentence)

    def _print_failure(self, sentence: str) -> None:
        _print(_native.clean_text(f"{sentence}; free some space, or use another --output"))

    def _print_findings(self, findings: list[Finding], growing: list[GrowingOwner]) -> None:
        lines = []
        if self._settings["fail"]:
            lines += ["\n\n".join(each.to_text(rank) for rank, each in enumerate(findings, 1))]
        elif findings:
            first = findings[0]
            others = len(findings) - 1
            more = f" {others:,} more finding{'s' * (others != 1)}." if others else ""
            if (first.signature, first.occurrences) != self._last_warned:
                lines += [_native.clean_text(f"{prefix()}{first.headline}{more}")]
        if growing:
            lines += [_native.clean_text(f"{prefix()}Tensor memory grows: {growing[0]}")]
        if lines:
            self._print_with_paths("\n".join(lines), self._watch.report_paths)

    @staticmethod
    def _print_with_paths(text: str, paths: Iterable[object]) -> None:
        lines = [text, *(f"report: {_native.clean_text(str(path))}" for path in paths)]
        _print("\n".join(lines))


def _print(text: str) -> None:
    """Print to standard error, ignoring exceptions."""
    try:
        if sys.stderr is not None:
            print(text, file=sys.stderr)
    except Exception:
        return


def named_reports(settings: Mapping[str, Any], script: str) -> dict[str, str]:
    """Map each format to its report file. The map is empty unless --output names a file."""
    folder, name, formats = _report_location(settings["output"], settings["format"], script)
    return {each: f"{folder}/{name}.{_suffix(each)}" for each in formats if name}


def report_file(settings: Mapping[str, Any], script: str) -> str:
    """The path of one report file, used to check in advance whether reports can be written."""
    folder, name, formats = _report_location(settings["output"], settings["format"], script)
    return f"{folder}/{name or 'report'}.{_suffix(formats[0])}"


def _report_location(
    output: str | None, formats: list[str] | None, script: str
) -> tuple[str, str, list[str]]:
    """Directory, name without suffix ("" for the default name) and formats of the report."""
    path = watches.absolute_folder(_expanded(output, script) if output else None)
    if not output or output.endswith("/") or os.path.isdir(path):
        return path, "", formats or ["html"]
    folder, name = os.path.split(path)
    stem, dot, suffix = name.rpartition(".")
    by_suffix = {_suffix(each): each for each in _native.format_names()}
    if dot and stem and suffix in by_suffix:
        formats = list(dict.fromkeys([by_suffix[suffix], *(formats or [])]))
    elif formats:
        stem = name
    else:
        known = ", ".join(f".{each}" for each in by_suffix)
        raise ValueError(f"unknown report format of {output!r}; use one of the suffixes {known}")
    rank = _native.job_rank()[0]
    if rank >= 0 and "{rank}" not in (output or ""):
        stem += f"-rank{rank}"
    return folder, stem, formats


def _expanded(output: str, script: str) -> str:
    values = {"script": script, "pid": str(os.getpid()), "rank": str(max(_native.job_rank()[0], 0))}
    for name, value in values.items():
        output = output.replace(f"{{{name}}}", value)
    return output


def _suffix(name: str) -> str:
    return "txt" if name == "text" else name


def _fails(finding: Finding) -> bool:
    libraries_fail = os.environ.get(setting_of("libraries", PYTEST).variable) == "fail"
    return finding.status == "new" or (finding.status == "library" and libraries_fail)
