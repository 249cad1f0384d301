# SPDX-License-Identifier: Apache-2.0
"""Passes the unreachable objects of each collection to Python code."""

from __future__ import annotations

import atexit
import gc

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OLDEST = 2


class GarbageObserver:
    """An entry of ``gc.callbacks`` that saves unreachable objects and shows them to an observer.

    During a collection, only the debug flags change. The objects are examined and freed later, on
    the main thread, when no collection is in progress.
    """

    def __init__(self, observer: Callable[[list[Any]], object]) -> None:
        """Start observing."""
        self._observer = observer
        self._flags: int | None = None  # of the program, while a collection is in progress
        self._first = 0  # index of our first object in gc.garbage
        self._generation: int | None = None  # the oldest one collected; None: nothing to show
        self._working = False
        self._started = 0  # number of collections
        gc.callbacks.append(self._on_collection)
        # At exit, the modules that the observer uses may have been cleared.
        atexit.register(self.remove)

    def remove(self) -> None:
        """Stop observing. Idempotent."""
        atexit.unregister(self.remove)
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)
        self._restore_flags()

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._started += 1
            if not self._working:
                self._save_objects()
        elif not self._working:
            self._restore_flags()
            if len(gc.garbage) > self._first:
                waiting = self._generation is not None
                self._generation = max(self._generation or 0, info["generation"])
                if not waiting:
                    _native.call_soon(self._show)

    def _save_objects(self) -> None:
        if self._generation is None:
            self._first = len(gc.garbage)
        if self._flags is None:
            self._flags = gc.get_debug()
        gc.set_debug(self._flags | gc.DEBUG_SAVEALL)

    def _restore_flags(self) -> None:
        if self._flags is not None:
            gc.set_debug(self._flags)
            self._flags = None

    def _show(self) -> None:
        """Complete the list of unreachable objects, show it and free the objects."""
        generation = self._generation
        if generation is None or self._on_collection not in gc.callbacks:
            self._generation = None
            return
        self._working = True
        try:
            self._save_objects()
            started = self._started
            # The saved objects are now as old as the oldest generation collected, and refer to
            # garbage of older generations. A young collection tells whether one is in progress.
            gc.collect(0 if generation == _OLDEST else _OLDEST)
            self._restore_flags()
            if self._started == started:  # inside a collection, gc.collect() does nothing
                _native.call_soon(self._show)
                return
            self._generation = None
            garbage = gc.garbage[self._first :]
            del gc.garbage[self._first :]
            try:
                self._observer(garbage)
            finally:
                garbage.clear()
                gc.collect()
        finally:
            self._working = False
