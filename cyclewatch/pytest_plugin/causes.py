# SPDX-License-Identifier: Apache-2.0
"""Identifies the cause of a finding: the code that stores the references to cut.

A signature contains the names of the classes and functions on the cycle, so the same code has a
different signature for each class that it is used with. A cause does not.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclewatch import Finding, Reference

_INDEX = re.compile(r"\[\d+\]")
_DEFINITION = re.compile(r"\s*((?:class|def|async def)\s+\w+)")


def cause_of(finding: Finding, root: Path) -> str:
    """ "cwc1-" and 16 hexadecimal digits. Does not depend on class names and line numbers.

    The id is computed from the pattern and, for each reference to cut, the file relative to `root`,
    the text of the line, the classes and functions that contain the line, and the kind of the
    reference. If no line is known, it is computed from the kinds of the references on the cycle.
    """
    parts = {part for cut in finding.cuts for part in _stored(cut, root)}
    if not parts:
        parts = {_kind(reference) for reference in finding.cycle}
    text = "\n".join([finding.pattern, *sorted(parts)])
    return f"cwc1-{sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def _stored(cut: Reference, root: Path) -> Iterator[str]:
    path, _, line = (cut.location or "").rpartition(":")
    if path and line.isdigit():
        lines = linecache.getlines(path)[: int(line)]
        text = lines[-1].strip() if lines else ""
        yield "\t".join([_relative(path, root), *_containing(lines), text, _kind(cut)])


def _containing(lines: list[str]) -> Iterator[str]:
    """The classes and functions that contain the last of `lines`, innermost first.

    They distinguish equal lines, such as a decorator that several functions have.
    """
    depth = _indentation(lines[-1]) if lines else 0
    for line in reversed(lines):
        found = _DEFINITION.match(line)
        if found and _indentation(line) < depth:
            depth = _indentation(line)
            yield found[1]


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _kind(reference: Reference) -> str:
    return _INDEX.sub("[x]", reference.label)


def _relative(path: str, root: Path) -> str:
    # The folder of the project or of the installed packages differs between machines.
    folders = [os.fspath(root), *(entry for entry in sys.path if entry)]
    inside = [each for each in folders if path.startswith(each.rstrip("/") + "/")]
    return path[len(max(inside, key=len, default="")) :].lstrip("/")
