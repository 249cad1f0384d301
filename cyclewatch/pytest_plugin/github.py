# SPDX-License-Identifier: Apache-2.0
"""Annotations that GitHub shows beside the lines of a pull request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cyclewatch._native import format_bytes
from cyclewatch.pytest_plugin.loops import NEW
from cyclewatch.wording import short_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch.pytest_plugin.loops import Loop


def is_wanted(setting: str) -> bool:
    """Whether to print them: `setting` is auto, on or off."""
    return setting == "on" or (setting == "auto" and os.environ.get("GITHUB_ACTIONS") == "true")


def workflow_commands(loops: list[Loop]) -> Iterator[str]:
    """One workflow command for each new loop at each place, in the order they were found."""
    told: set[tuple[str, str, int]] = set()
    for loop in loops:
        place = (loop["signature"], loop["path"], loop["line"])
        if loop["verdict"] != NEW or place in told:
            continue
        told.add(place)
        held = format_bytes(loop["held_bytes"])
        title = _property(f"Tensor cycle: {short_title(loop['title'])} keeps {held}")
        where = f"file={_property(loop['path'])},line={loop['line']}," if loop["path"] else ""
        yield f"::error {where}title={title}::{_data(loop['card'])}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
