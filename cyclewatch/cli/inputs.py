# SPDX-License-Identifier: Apache-2.0
"""Loads reports from the FILE arguments: files, folders, globs and standard input."""

from __future__ import annotations

import glob
import os
import sys
from typing import NamedTuple

import cyclewatch
from cyclewatch import _native
from cyclewatch.cli import terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Suffixes of reports in a folder, most preferred first. If files differ only in their suffixes,
# only one of them is read.
_SUFFIXES = (".json", ".html", ".htm")

_START = 1 << 14  # bytes of a file that are read to find its processes


class Input(NamedTuple):
    """A report and its file name."""

    name: str
    report: cyclewatch.Report


def load(arguments: list[str]) -> list[Input]:
    """Load the reports that the FILE arguments refer to. Raises Failure if no report is found."""
    return list(each_of(arguments))


def each_of(arguments: list[str]) -> Iterator[Input]:
    """As :func:`load`, but does not keep the reports: those of many ranks need gigabytes."""
    is_empty = True
    for path, certain in _expand(arguments):
        report = _read(path, certain)
        if report is not None:
            is_empty = False
            yield Input(path, report)
    if is_empty:
        raise Failure(f"no report in {', '.join(arguments)}")


def count_of(reports: int) -> str:
    """A phrase for messages: "the report", or "the 3 reports"."""
    return "the report" if reports == 1 else f"the {reports} reports"


def load_pair(before: str, after: str) -> tuple[cyclewatch.Report, cyclewatch.Report]:
    """Load the two reports to compare."""
    if before == after == "-":
        raise Failure(
            "BEFORE and AFTER cannot both be standard input",
            Status.USAGE,
        )
    return load_merged([before])[0], load_merged([after])[0]


def merged(inputs: list[Input]) -> cyclewatch.Report:
    """Merge `inputs` into one report."""
    if len(inputs) == 1:
        return inputs[0].report
    try:
        return cyclewatch.Report.merge([each.report for each in inputs])
    except ValueError as error:
        raise Failure(f"cannot merge the reports: {error}") from None


def load_merged(arguments: list[str]) -> tuple[cyclewatch.Report, list[str]]:
    """Load the reports that the FILE arguments refer to; return the merged report and the names."""
    paths = [path for path, _ in _expand(arguments)]
    report = _merged_one_at_a_time(paths) if len(paths) > 1 else None
    if report is not None:
        return report, paths
    loaded = load(arguments)
    return merged(loaded), [each.name for each in loaded]


def load_job(arguments: list[str]) -> tuple[cyclewatch.Report, list[str]]:
    """As :func:`load_merged`; also one report names the missing ranks of its job."""
    report, names = load_merged(arguments)
    return (cyclewatch.Report.merge([report]) if len(names) == 1 else report), names


def _merged_one_at_a_time(paths: list[str]) -> cyclewatch.Report | None:
    # The reports of a thousand ranks do not fit into a gigabyte. None if anything is unusual;
    # load() then also reports the errors. Reading the start of a pipe would lose it.
    if not all(map(os.path.isfile, paths)):
        return None
    try:
        starts = [_start_of(path) for path in paths]
    except OSError:
        return None
    known = [start for start in starts if start is not None]
    if len(known) < len(paths):
        return None
    order = _native.merge_order(known)
    files = [os.fsencode(paths[at]) for at in order]
    return _native.merge_files([known[at] for at in order], files) if order else None


def _start_of(path: str) -> cyclewatch.Report | None:
    with open(path, "rb") as file:
        return _native.start_of_report(file.read(_START))


def _expand(arguments: list[str]) -> list[tuple[str, bool]]:
    # Each path, and whether it must be a report because it was named explicitly.
    paths: list[tuple[str, bool]] = []
    for argument in arguments:
        if not argument:
            raise Failure("FILE is empty; use . for the current directory", Status.USAGE)
        if argument == "-" or not os.path.lexists(argument):
            magic = glob.has_magic(argument)
            matches = sorted(glob.glob(argument, recursive=True)) if magic else []
            allowed = [(match, False) for match in matches if _may_be_read(match)]
            paths += allowed or [(argument, True)]
        elif os.path.isdir(argument):
            paths += [(path, False) for path in _reports_in(argument)]
        else:
            paths.append((argument, True))
    return list(dict.fromkeys(paths))


def _may_be_read(path: str) -> bool:
    # Reading a pipe or a device found in a folder might block forever.
    if os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path):
        return True
    terminal.note(f"skipped: {path} is not a regular file")
    return False


def _reports_in(folder: str) -> list[str]:
    # A job may have a folder for each run or host. Other folders are searched only if the first one
    # contains no candidates, because reading all files of a project would take long.
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise Failure(f"cannot read the folder {folder}: {error.strerror}") from None
    found = _reports_named(folder, names)
    if found:
        return found
    for inner, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += _reports_named(inner, sorted(names)) if inner != folder else []
    return found


def _reports_named(folder: str, names: list[str]) -> list[str]:
    chosen: dict[str, str] = {}
    for suffix in _SUFFIXES:
        for name in names:
            if name.endswith(suffix) and _may_be_read(os.path.join(folder, name)):
                chosen.setdefault(name.removesuffix(suffix), name)
    return [os.path.join(folder, name) for name in sorted(chosen.values())]


def _read(path: str, certain: bool) -> cyclewatch.Report | None:
    try:
        if path == "-" and sys.stdin is None:
            raise Failure("cannot read standard input: it is closed")
        if path == "-":
            return _native.load_report(sys.stdin.buffer.read(), "standard input")
        return cyclewatch.Report.load(path)
    except cyclewatch.ReportFormatError as error:
        if certain:
            hint = f"; did you mean cyclewatch run {path}?" if path.endswith(".py") else ""
            raise Failure(f"{error}{hint}") from None
        terminal.note(f"skipped: {error}")
        return None
    except UnicodeError:
        raise Failure(f"cannot read {path}: invalid file name") from None
    except OSError as error:
        # A folder or glob may contain broken links and unreadable files.
        if certain:
            raise Failure(f"cannot read {path}: {error.strerror}") from None
        terminal.note(f"skipped: cannot read {path}: {error.strerror}")
        return None
