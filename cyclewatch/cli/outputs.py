# SPDX-License-Identifier: Apache-2.0
"""Writes the output of commands to standard output or to a file."""

from __future__ import annotations

import os
import stat

from cyclewatch import _native
from cyclewatch.cli import terminal
from cyclewatch.cli.failures import Failure
from cyclewatch.writing import why_not


def write(path: str, contents: str | bytes, force: bool) -> None:
    """Write to `path` ("-": standard output). Replace an existing file only if `force` is true."""
    if path == "-":
        terminal.raw(contents)
        return
    data = contents.encode("utf-8") if isinstance(contents, str) else contents
    try:
        _native.write_file(path, data, replace=force or _is_device(path))
    except FileExistsError:
        raise Failure(f"{path} exists; use --force to replace it") from None
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def make_folder(path: str) -> None:
    """Create a directory for several files, unless it already exists."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot create the folder {path}: {error.strerror}") from None


def refuse_to_replace(path: str, force: bool) -> None:
    """Fail early if `path` exists and must not be replaced."""
    if path != "-" and not force and os.path.lexists(path) and not _is_device(path):
        raise Failure(f"{path} exists; use --force to replace it")


def refuse_unwritable(path: str) -> None:
    """Fail early if `path` cannot be written."""
    why = None if _is_device(path) else why_not(path)
    if why is not None:
        raise Failure(f"cannot write {path}: {why}")


def _is_device(path: str) -> bool:
    # Writing to /dev/null, a terminal or a pipe does not replace a file.
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
