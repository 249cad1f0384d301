# SPDX-License-Identifier: Apache-2.0
"""A watch over a whole program that knows nothing of it.

autostart.py starts one before the program, for ``cyclewatch run`` and for CYCLEWATCH=1. It prints
nothing while the program runs, unless asked to.
"""

from __future__ import annotations

import atexit
import os
import sys

from cyclewatch import _native, collecting, watches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cyclewatch._native import Finding

FAILED = 1  # exit status for a program that ended well and left findings


class ProcessWatch:
    """A running watch and what is to be done when the program has ended."""

    def __init__(self, settings: Mapping[str, Any], script: str) -> None:
        """Watch this process from now to its end.

        Args:
            settings: A value for each of ``cyclewatch.cli.options.WATCH_SETTINGS``.
            script: What to call the program in the name of its report.

        Raises:
            ValueError: A setting makes no sense; the message says which.
        """
        self._settings = settings
        self._process = os.getpid()
        folder, name, formats = _report_place(settings["output"], settings["format"], script)
        self._named = named_reports(settings, script)
        warn = settings["warn"]
        self._watch = watches.start(
            settings["devices"],
            formats=formats,
            report_dir=folder,
            report_name=name,
            replace_report=settings["force"],
            min_bytes=settings["min_bytes"],
            budget=settings["budget"],
            on_finding=watches.warn if warn else watches.finish_with_multiprocessing,
            on_log=watches.log if warn else None,
        )
        if settings["fail"]:
            _native.offer_failure()
        if settings["collect_every"]:
            self._collect_every()
        os.register_at_fork(after_in_child=self._in_child)
        # Handlers run last in, first out: the program's own are all before this one.
        atexit.register(self._finish)

    def _in_child(self) -> None:
        if not self._settings["follow_fork"]:
            self._watch.stop()
        elif self._settings["collect_every"]:
            self._collect_every()

    def _collect_every(self) -> None:
        _native.collect_every(self._settings["collect_every"], collecting.GC_COLLECT)

    def _finish(self) -> None:
        """The program has ended, and its exit handlers too."""
        _native.stop_collecting()
        if self._settings["collect_at_exit"] and self._watch.active:
            collecting.collect()
        self._watch.stop()
        self._leave_empty_report()
        self._tell_failures()
        findings = [each for each in self._watch.report().findings if each.status == "new"]
        if not findings or (os.getpid() != self._process and not self._settings["follow_fork"]):
            return
        if self._settings["fail"]:
            _native.fail(FAILED)
        if not self._settings["quiet"]:
            self._tell(findings)

    def _leave_empty_report(self) -> None:
        # A file that was asked for by name is there afterwards, to be compared with others.
        if not self._named or os.getpid() != self._process or self._has_report():
            return
        report = self._watch.report()
        try:
            for name, path in self._named.items():
                contents = getattr(report, f"to_{name}")().encode()
                # As the watch would have written it: whoever names a file changes its name alone.
                _native.write_file(path, contents, replace=self._settings["force"], owner_only=True)
        except OSError as error:
            self._tell_failure(f"cyclewatch could not write {path}: {error.strerror}")

    def _has_report(self) -> bool:
        """Whether there was something to report, and so a file to write."""
        native = self._watch._native_watch
        return bool(native.report_paths() or native.report_failures())

    def _tell_failures(self) -> None:
        if self._settings["warn"]:
            return  # the log has told it
        # A file that was asked for by name is missed, also if nothing else is to be printed.
        if (self._named and os.getpid() == self._process) or not self._settings["quiet"]:
            for sentence in self._watch._native_watch.report_failures():
                self._tell_failure(sentence)

    def _tell_failure(self, sentence: str) -> None:
        _print(_native.clean_text(f"{sentence}; make room there, or name another place"))

    def _tell(self, findings: list[Finding]) -> None:
        if self._settings["fail"]:
            text = "\n\n".join(each.to_text(rank) for rank, each in enumerate(findings, 1))
        else:
            text = _native.clean_text(findings[0].headline)
        paths = self._watch.report_paths
        _print("\n".join([text, *(f"report: {path}" for path in paths)]))


def _print(text: str) -> None:
    """Print to standard error, if it can be: what fails there is none of the program's doing."""
    try:
        if sys.stderr is not None:
            print(text, file=sys.stderr)
    except Exception:
        return


def named_reports(settings: Mapping[str, Any], script: str) -> dict[str, str]:
    """Format -> file, if the name of the report was asked for."""
    folder, name, formats = _report_place(settings["output"], settings["format"], script)
    return {each: f"{folder}/{name}.{_suffix(each)}" for each in formats if name}


def report_file(settings: Mapping[str, Any], script: str) -> str:
    """A file where a report will be, for a look at whether it can be."""
    folder, name, formats = _report_place(settings["output"], settings["format"], script)
    return f"{folder}/{name or 'report'}.{_suffix(formats[0])}"


def _report_place(
    output: str | None, formats: list[str] | None, script: str
) -> tuple[str, str, list[str]]:
    """Folder, name without suffix ("" for the usual one) and formats of the report."""
    # Absolute: the program may change the current folder.
    path = _absolute(_filled_in(output, script) if output else os.curdir)
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
        raise ValueError(f"the format of {output!r} is unknown: end its name in one of {known}")
    rank = os.environ.get("RANK")
    if rank and "{rank}" not in (output or ""):
        stem += f"-rank{rank}"
    return folder, stem, formats


def _absolute(path: str) -> str:
    """As it is where the current folder is gone: then writing falls back to another one."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def _filled_in(output: str, script: str) -> str:
    values = {"script": script, "pid": str(os.getpid()), "rank": os.environ.get("RANK", "0")}
    for name, value in values.items():
        output = output.replace(f"{{{name}}}", value)
    return output


def _suffix(name: str) -> str:
    return "txt" if name == "text" else name
