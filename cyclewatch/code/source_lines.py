# SPDX-License-Identifier: Apache-2.0
"""Reads the source files of this process, except files that have changed since they were loaded."""

from __future__ import annotations

import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_LINE = 200  # characters; longer lines are truncated
CONTEXT = 1  # lines before and after
_LARGEST_FILE = 4_000_000  # characters
MOST_LINES = 200_000  # per file


def read_source(path: str) -> list[str] | None:
    """The lines of the source file `path` as this process loaded it, without newlines.

    Also finds notebook cells, generated code registered with ``linecache``, and modules in a zip
    file. None if the source is unavailable: it does not exist, is not text, has more than 4
    million characters or 200,000 lines, or may have changed since this process started.
    """
    try:
        text = _registered(path)
        if text is None:
            full = os.path.join(_folder, path)
            text = _from_file(full) if os.path.isfile(full) else _from_loader(full)
    except Exception:
        return None  # best effort: a module's loader may raise any error
    if text is None or "\0" in text or text.count("\n") >= MOST_LINES:
        return None
    return text.split("\n")


def excerpts(locations: list[str]) -> list[tuple[int, list[str]]]:
    """For each location, the number of the first line to show, and the lines.

    A location is "path:line" or "path:module.Class.field". For a line, the lines before and after
    it are also shown. For a field, only the line that declares it is shown. If the class does not
    declare the field, the line of the `class` statement is shown instead. Lines are truncated to
    200 characters. If the source is unavailable, the list of lines is empty.
    """
    files: dict[str, list[str]] = {}
    fields: dict[str, dict[str, int]] = {}
    found = []
    for location in locations:
        path, _, number = location.rpartition(":")
        if path not in files:
            files[path] = read_source(path) or []
        if number.isdecimal():
            found.append(excerpt(files[path], int(number)))
        else:
            if path not in fields:
                fields[path] = _lines_of_fields(files[path])
            owner, _, field = number.rpartition(".")
            name = owner.rpartition(".")[2]
            line = fields[path].get(f"{name}.{field}", fields[path].get(name, 0))
            found.append(excerpt(files[path], line, 0))
    return found


def _lines_of_fields(source: list[str]) -> dict[str, int]:
    """Map each "Class", and each "Class.field" declared in a class body, to its line number.

    Classes whose name is not unique in the file are omitted.
    """
    import ast
    import collections

    try:
        tree = ast.parse("\n".join(source))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    lines: dict[str, int] = {}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    count = collections.Counter(node.name for node in classes)
    for owner in classes:
        if count[owner.name] > 1:
            continue
        lines[owner.name] = owner.lineno
        for node in owner.body:
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                if isinstance(target, ast.Name):
                    lines.setdefault(f"{owner.name}.{target.id}", node.lineno)
    return lines


def excerpt(source: list[str], line: int, context: int = CONTEXT) -> tuple[int, list[str]]:
    """Return the first line number and the lines, as excerpts() does for each location."""
    first = max(1, line - context)
    shown = source[first - 1 : line + context] if 0 < line <= len(source) else []
    return first, [_truncate(each) for each in shown]


def _truncate(line: str) -> str:
    # Lone surrogates are replaced, because a report is UTF-8.
    line = line.rstrip().encode(errors="replace").decode()
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."


def _registered(path: str) -> str | None:
    """The source registered with linecache, for example by IPython for each cell."""
    linecache = sys.modules.get("linecache")
    entry = linecache.cache.get(path) if linecache is not None else None
    # An entry with a time stamp is a cached copy of a file; the file itself is read instead.
    if entry is None or len(entry) != 4 or entry[1] is not None:
        return None
    return "".join(entry[2]).removesuffix("\n")


def _from_file(path: str) -> str | None:
    import tokenize

    with tokenize.open(path) as file:
        text = file.read(_LARGEST_FILE + 1)
    # Checked after reading, so that a change during the read is noticed.
    if len(text) > _LARGEST_FILE or not _is_unchanged(path):
        return None
    return text.removesuffix("\n")


def _from_loader(path: str) -> str | None:
    """The source of a module in a zip file."""
    archive = os.path.dirname(path)
    while not os.path.exists(archive):
        parent = os.path.dirname(archive)
        if parent == archive:
            return None  # a test may have replaced os.path.exists()
        archive = parent
    if not os.path.isfile(archive) or not _is_unchanged(archive):
        return None
    for module in list(sys.modules.values()):
        spec: Any = getattr(module, "__spec__", None)
        # The path of an archive in sys.path may be relative.
        if spec is not None and spec.origin and os.path.join(_folder, spec.origin) == path:
            text: str | None = spec.loader.get_source(spec.name)
            return None if text is None else text.removesuffix("\n")
    return None


def _is_unchanged(path: str) -> bool:
    """Whether the path has referred to the same, unchanged file since this process started.

    A directory or symbolic link on the path may have been replaced by an older one.
    """
    for each in {os.path.abspath(path), os.path.realpath(path)}:
        while True:
            status = os.lstat(each)
            # The modification time of a file is not used, because tools can change it. Adding a
            # file to a folder changes both times of the folder; renaming the folder changes only
            # its ctime.
            if status.st_ctime >= _process_start and (
                not stat.S_ISDIR(status.st_mode) or status.st_mtime < _process_start
            ):
                return False
            if os.path.dirname(each) == each:
                break
            each = os.path.dirname(each)
    return True


def _time_of_process_start() -> float:
    """The start time of this process, in seconds since the epoch."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19]) + 1  # rounded up
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.time() - age
    except (OSError, ValueError, IndexError):
        return time.time()


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # the directory has been removed


# Paths may be relative (runpy.run_path()), and the program may change the current directory.
_folder = _current_folder()

# A forked child inherits the time of its parent, which loaded the modules.
_process_start = _time_of_process_start()
