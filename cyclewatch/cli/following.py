# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch view --follow``: a page that reloads itself while the program runs."""

from __future__ import annotations

import os
import time

from cyclewatch import _native
from cyclewatch.cli import inputs, outputs, remote_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import cyclewatch
    from cyclewatch._native import Program

_RELOAD = '<meta name="cyclewatch-reload" content="5">\n'
_PAUSE = 2.0  # seconds between two looks at the reports
# The end of model::kStillRunning, which the report of an active watch contains.
_STILL_RUNNING = "before the report was written"


def follow(
    files: list[str],
    page: str,
    opened: Callable[[], None],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Write the page whenever a report changes, until no program writes to the reports any more.

    Args:
        files: The FILE arguments.
        page: The path of the page, which may be replaced.
        opened: Called once the page exists.
        pause: Waits for some seconds.

    Raises:
        Failure: A report cannot be read, or the page cannot be written.
    """
    loaded = inputs.load(files)
    seen = _states(loaded)
    _write(page, loaded)
    opened()
    try:
        while _is_running(inputs.merged(loaded)):
            pause(_PAUSE)
            if _states(loaded) != seen:
                seen = _states(loaded)
                loaded = inputs.load(files)
                _write(page, loaded)
    except KeyboardInterrupt:
        pass
    outputs.write(page, inputs.merged(loaded).to_html(), True)  # no longer reloads itself


def _write(page: str, loaded: list[inputs.Input]) -> None:
    report = inputs.merged(loaded)
    text = report.to_html()
    if _is_running(report):
        text = text.replace("<title>", f"{_RELOAD}<title>", 1)
    outputs.write(page, text, True)


def _is_running(report: cyclewatch.Report) -> bool:
    return any(
        (each.unexamined or "").endswith(_STILL_RUNNING) and not _has_died(each)
        for each in report.processes
    )


def _has_died(process: Program) -> bool:
    """Whether the process has ended without its last report, for example by a signal.

    False if it may run on another machine.
    """
    return process.host == _native.machine() and remote_process.has_ended(process.pid)


def _states(loaded: list[inputs.Input]) -> list[tuple[int, int, int] | None]:
    return [_state(each.name) for each in loaded]


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
