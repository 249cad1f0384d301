# SPDX-License-Identifier: Apache-2.0
"""Records torch's memory history in a range of steps, and writes a snapshot at its end."""

from __future__ import annotations

import atexit
import os

from cyclewatch.snapshots.writing import dump_snapshot
from cyclewatch.watching import step_numbers
from cyclewatch.watching.finding_warnings import log
from cyclewatch.watching.memory_recording import MemoryRecorder

_WARNING = 30  # level of logging
_ENTRIES = 100_000


class SnapshotRecording:
    """Lets torch record, and writes ``path`` after the last step, at :meth:`stop` or at exit.

    Attributes:
        written: The path of the file; None before it has been written.
        failure: Why the file could not be written; "" if it could, or nothing was recorded.
    """

    def __init__(self, path: str, steps: tuple[int, int] | None) -> None:
        """Start recording now or, with `steps`, at the first of them."""
        self.written: str | None = None
        self.failure = ""
        self._path = path
        self._steps = steps
        self._process = os.getpid()
        self._is_stopped = False
        self._program_sets_steps = False
        self._recorder: MemoryRecorder | None = None
        if steps is None:
            self._start()
        step_numbers.listeners.append(self._on_step)
        atexit.register(self.stop)

    def stop(self) -> None:
        """Write the snapshot if something was recorded, and stop recording. Idempotent."""
        if self._is_stopped:
            return
        self._is_stopped = True
        atexit.unregister(self.stop)
        step_numbers.listeners.remove(self._on_step)
        if self._recorder is None or os.getpid() != self._process:
            return
        try:
            dump_snapshot(self._path)
            self.written = self._path
        except Exception as error:  # includes those of torch
            self.failure = f"no memory snapshot: {error}"
            log(_WARNING, self.failure)
        finally:
            self._recorder.stop()

    def _start(self) -> None:
        self._recorder = MemoryRecorder(_ENTRIES, ["cuda"])

    def _on_step(self, number: int, counted: bool) -> None:
        if counted and self._program_sets_steps:
            return
        self._program_sets_steps = not counted
        if self._recorder is not None:
            self._recorder.poke()
        if self._steps is None:
            return
        first, last = self._steps
        if number > last:
            self.stop()
        elif number >= first and self._recorder is None:
            self._start()
