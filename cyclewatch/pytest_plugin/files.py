# SPDX-License-Identifier: Apache-2.0
"""The files that a run is to leave: asked about before it begins, and told of where they fail."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cyclewatch.pytest_plugin.loops import REPORT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclewatch.pytest_plugin.options import Settings


class CannotWrite(Exception):  # noqa: N818 -- its text is a sentence, and so is its name
    """A file of the run was not written; one sentence says which, and why."""


def refuse_unwritable(settings: Settings) -> None:
    """Raise pytest.UsageError for a file that the run could only fail to write when it is over."""
    wanted = {
        "--cyclewatch-report": settings.report and settings.report / REPORT_NAME,
        "--cyclewatch-sarif": settings.sarif,
        "--cyclewatch-baseline": settings.baseline if settings.update_baseline else None,
    }
    for flag, path in wanted.items():
        why = _why_not(path) if path is not None else None
        if why is not None:
            raise pytest.UsageError(f"{flag}: {path} cannot be written: {why}")


@contextmanager
def written(what: str, path: Path) -> Iterator[None]:
    """Make the folder of `path`; meanwhile every OSError becomes a CannotWrite about `what`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        # In words of ours first: "File exists" is what the system says of a file that a folder
        # should be.
        why = _why_not(path) or error.strerror or error
        raise CannotWrite(f"{what} {path} cannot be written: {why}") from None


def _why_not(path: Path) -> str | None:
    # What can be seen from outside. Folders that are missing are made, so the nearest one counts.
    if os.path.isdir(path):
        return "it is a folder"
    for folder in path.parents:
        if os.path.isdir(folder):
            allowed = os.access(folder, os.W_OK | os.X_OK)
            return None if allowed else f"no permission to write in the folder {folder}"
        if os.path.lexists(folder):
            return f"{folder} is no folder"
    return None
