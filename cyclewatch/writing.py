# SPDX-License-Identifier: Apache-2.0
"""Whether a file can be written, as far as that can be seen before there is anything to write."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def why_not(path: str | Path) -> str | None:
    """What stands in the way of a file at `path`; None if nothing does that can be seen.

    Folders that are missing will be made, so it is the nearest one that counts.
    """
    if os.path.isdir(path):
        return "it is a folder"
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        if os.path.lexists(folder):
            return f"{folder} is no folder"
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"no permission to write in the folder {folder}"
    return None
