# SPDX-License-Identifier: Apache-2.0
"""The configuration: additional patterns and ignored findings."""

from __future__ import annotations

import os

from cyclewatch import _native

# Importing typing would take longer than importing this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cyclewatch._native import Pattern

# Path and contents of the active configuration file; None if there is none.
_active: tuple[str, bytes] | None = None


def patterns() -> list[Pattern]:
    """Return the known classes of cycles: the configured patterns, then the built-in ones.

    ``Finding.pattern`` is the ``id`` of one of them, or "unknown".

    Examples:
        >>> by_id = {pattern.id: pattern for pattern in cyclewatch.patterns()}
        >>> by_id[finding.pattern].title
        'A bound method stored on its own instance'
    """
    read_configuration()
    return _native.patterns()


def ignore(*, signature: str | None = None, pattern: str | None = None, reason: str) -> None:
    """Ignore a finding, or all findings of a pattern.

    An ignored finding causes no warning and does not fail checks. Reports list it, with the reason,
    in a separate section. The change also applies to running watches and their existing findings,
    and remains in effect until the program ends. To ignore a finding permanently, use the
    configuration file (docs/configuration.md).

    Args:
        signature: ``Finding.signature`` of the finding.
        pattern: ``Pattern.id``. If `signature` is also given, a finding must match both.
        reason: Shown in reports.

    Raises:
        ValueError: `reason` is empty, neither `signature` nor `pattern` is given, or the pattern
            is unknown; the message lists the known patterns.
        TypeError: An argument is not a string.

    Examples:
        >>> cyclewatch.ignore(signature=finding.signature, reason="once per run")
        >>> with cyclewatch.watch(devices="cpu") as watch:
        ...     train()
        >>> watch.report().findings[0].status
        'ignored'
    """
    for name, value in (("signature", signature), ("pattern", pattern), ("reason", reason)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a string, not {value!r}")
    from cyclewatch.settings import configuration_reader

    suppression = {
        "signature": signature or "",
        "pattern": pattern or "",
        "reason": reason or "",
    }
    problem = configuration_reader.problem_of(suppression, [each.id for each in patterns()])
    if problem:
        raise ValueError(problem)
    _native.ignore(*suppression.values())


def read_configuration() -> None:
    """Apply the nearest configuration file, unless it is active already; log its errors.

    The current directory and then its parents are searched for a ``cyclewatch.toml``, or a
    ``pyproject.toml`` with a table ``[tool.cyclewatch]``.
    """
    global _active
    try:
        found = next(_files(), None)
    except OSError as error:
        _log(f"{error.filename}: {error.strerror}; the file is ignored")
        return
    if found == _active:
        return
    _active = found
    if found is None:
        _native.configure([], [])
        return
    path, contents = found
    try:
        table = _table(path, contents)
    except (ValueError, RecursionError) as error:
        _native.configure([], [])
        _log(f"{path}: {error}; the file is ignored")
        return
    from cyclewatch.settings import configuration_reader

    known = [pattern.id for pattern in _native.built_in_patterns()]
    patterns, suppressions, problems = configuration_reader.read(table, known)
    _native.configure(patterns, suppressions)
    lists = configuration_reader.LISTS
    for name in table.keys() - set(lists):
        problems.append(f'unknown key "{name}"; valid keys: {", ".join(lists)}')
    for problem in problems:
        _log(f"{path}: {problem}")


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
    """Path and contents of each possible configuration file, nearest first."""
    try:
        folder = os.getcwd()
    except OSError:  # the current directory was removed
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
