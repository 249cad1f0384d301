# SPDX-License-Identifier: Apache-2.0
"""The files that a run is to leave: asked about before it begins, and told of where they fail."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cyclewatch.pytest_plugin.loops import REPORT_NAME
from cyclewatch.writing import why_not

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
        why = why_not(path) if path is not None else None
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
        why = why_not(path) or error.strerror or error
        raise CannotWrite(f"{what} {path} cannot be written: {why}") from None
