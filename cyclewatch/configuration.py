# SPDX-License-Identifier: Apache-2.0
"""What the user adds to the patterns and does not want to be told: from a file, or by a call."""

from __future__ import annotations

import os

from cyclewatch import _native

# As typing.TYPE_CHECKING, whose module alone would cost more than the whole package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cyclewatch._native import Pattern

# Lists of the configuration, as they are called in the file.
_LISTS = ("ignore", "pattern")

# The configuration in force: path and contents of its file; None while there is none.
_in_force: tuple[str, bytes] | None = None


def patterns() -> list[Pattern]:
    """The kinds of cycles that are known: those of the configuration, then the built-in ones.

    ``Finding.pattern`` is the ``id`` of one of them.
    """
    read_configuration()
    return _native.patterns()


def ignore(*, signature: str | None = None, pattern: str | None = None, reason: str) -> None:
    """Do not warn of a finding again: the one of that signature, or all of that pattern.

    With both, a finding has to have both. It stays in every report, in a section of its own and
    with the reason. This holds until the program ends, for running watches too; to keep it
    beyond that, write it into the configuration file (docs/configuration.md).

    Raises:
        ValueError: No reason, nothing to ignore, or no such pattern; the message lists them.
    """
    for name, value in (("signature", signature), ("pattern", pattern), ("reason", reason)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r}")
    read_configuration()
    _native.ignore(signature or "", pattern or "", reason or "")


def read_configuration() -> None:
    """Put the nearest configuration in force if it is not yet; what is wrong in it is logged.

    That is the first ``cyclewatch.toml``, or ``pyproject.toml`` with a table
    ``[tool.cyclewatch]``, in the current directory or above it.
    """
    global _in_force
    try:
        found = next(_files(), None)
    except OSError as error:
        _log(f"{error.filename}: {error.strerror}; cyclewatch does not use it")
        return
    if found == _in_force:
        return
    _in_force = found
    if found is None:
        _native.configure("{}")
        return
    path, contents = found
    try:
        table = _table(path, contents)
        lists = {name: value for name, value in table.items() if name in _LISTS}
        problems = _put_in_force(lists)
    except (ValueError, RecursionError) as error:
        _native.configure("{}")
        _log(f"{path}: {error}; cyclewatch uses nothing in it")
        return
    for name in table.keys() - lists:
        problems.append(f'there is no key "{name}"; the keys are {", ".join(_LISTS)}')
    for problem in problems:
        _log(f"{path}: {problem}")


def _put_in_force(lists: dict[str, Any]) -> list[str]:
    import json

    # A date is the one value of TOML that JSON has not; as text it is told as wrong, as it is.
    return _native.configure(json.dumps(lists, default=str, allow_nan=False))


def _table(path: str, contents: bytes) -> dict[str, Any]:
    import tomllib

    document: Any = tomllib.loads(contents.decode())
    if os.path.basename(path) == "pyproject.toml":
        tool = document.get("tool")
        document = tool.get("cyclewatch", {}) if isinstance(tool, dict) else {}
    if not isinstance(document, dict):
        raise ValueError("tool.cyclewatch is not a table")
    return document


def _files() -> Iterator[tuple[str, bytes]]:
    """Path and contents of each file that may hold a configuration, the nearest first."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return
    while True:
        for name, mark in (("cyclewatch.toml", b""), ("pyproject.toml", b"tool.cyclewatch")):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    contents = file.read()
                if mark in contents:
                    yield path, contents
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _log(message: str) -> None:
    import logging

    logging.getLogger("cyclewatch").warning("%s", message)
