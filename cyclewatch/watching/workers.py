# SPDX-License-Identifier: Apache-2.0
"""Worker processes of multiprocessing. Does not import the extension, nor multiprocessing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def is_worker() -> bool:
    """Whether multiprocessing started this process."""
    # At the start of the interpreter, multiprocessing is not imported yet.
    process = sys.modules.get("multiprocessing.process")
    return starts_worker(sys.orig_argv) or (
        process is not None and process.parent_process() is not None
    )


def starts_worker(command: list[str]) -> bool:
    """Whether `command` is how multiprocessing starts a process without forking."""
    return any(word.startswith("from multiprocessing.") for word in command)


class WorkerEnd:
    """Calls a function when a multiprocessing worker ends that was forked.

    Such a worker, for example of a DataLoader, ends with os._exit(), which skips atexit. It runs
    the finalizers of multiprocessing. When a worker starts, multiprocessing first discards all
    finalizers and then calls the functions passed to register_after_fork().
    """

    def __init__(self, finish: Callable[[], object]) -> None:
        """Call `finish` at the end of each worker. Does not import multiprocessing."""
        self._finish = finish
        self._worker = 0  # the id of the process that has registered the finalizer
        os.register_at_fork(after_in_child=self._in_child)

    def register(self) -> None:
        """Register the finalizer if this process is a worker. Idempotent."""
        util = sys.modules.get("multiprocessing.util")
        if util is not None and is_worker() and self._worker != os.getpid():
            self._worker = os.getpid()
            util.Finalize(None, self._finish, exitpriority=0)

    def _in_child(self) -> None:
        # A child that was not forked by multiprocessing ignores this registration.
        util = sys.modules.get("multiprocessing.util")
        if util is not None and hasattr(util, "register_after_fork"):
            util.register_after_fork(self, WorkerEnd.register)
