# SPDX-License-Identifier: Apache-2.0
"""Checks in advance whether a file can be written."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def why_not(path: str | Path) -> str | None:
    """Return why a file cannot be written to `path`, or None if no reason is known.

    Missing directories will be created, so the nearest existing parent is checked.
    """
    if os.path.isdir(path):
        return "it is a folder"
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        if os.path.lexists(folder):
            return f"{folder} is not a folder"
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"no permission to write to the folder {folder}"
    return None
