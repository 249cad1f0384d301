# SPDX-License-Identifier: Apache-2.0
"""Passes the unreachable objects of each collection to Python code."""

from __future__ import annotations

import atexit
import functools
import gc

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Observer = Callable[[list[Any]], object]

_OLDEST = 2


class _Saver:
    """Saves the unreachable objects of each collection, and shows them to all observers.

    There is one saver: two would each save what the other frees, and take the other's debug flags
    for the program's. During a collection, only the debug flags change. The objects are examined
    and freed later, on the main thread, when no collection is in progress.
    """

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._flags: int | None = None  # of the program, while a collection is in progress
        self._first = 0  # index of our first object in gc.garbage
        self._generation: int | None = None  # the oldest one collected; None: nothing to show
        self._working = False
        self._started = 0  # number of collections
        # The second one requests the call of _show(), and is no Python function. In one, CPython
        # would make the call at once if the program is traced, that is, inside the collection.
        self._callbacks = (
            self._on_collection,
            functools.partial(_native.call_soon, self._show),
        )

    def add(self, observer: Observer) -> None:
        if not self._observers:
            gc.callbacks.extend(self._callbacks)
            # At exit, the modules that observers use may have been cleared.
            atexit.register(self._stop)
        self._observers = [*self._observers, observer]

    def remove(self, observer: Observer) -> None:
        self._observers = [other for other in self._observers if other is not observer]
        if not self._observers:
            self._stop()

    def _stop(self) -> None:
        self._observers = []
        atexit.unregister(self._stop)
        gc.callbacks[:] = [entry for entry in gc.callbacks if entry not in self._callbacks]
        self._restore_flags()
        if self._generation is not None and not self._working:
            self._take_garbage().clear()

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._started += 1
            if not self._working:
                self._save_objects()
        elif not self._working:
            self._restore_flags()
            if len(gc.garbage) > self._first:
                self._generation = max(self._generation or 0, info["generation"])

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

    def _take_garbage(self) -> list[Any]:
        self._generation = None
        garbage = gc.garbage[self._first :]
        del gc.garbage[self._first :]
        return garbage

    def _show(self) -> None:
        """Complete the list of unreachable objects, show it and free the objects."""
        generation = self._generation
        if generation is None or self._working:
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
                return  # its end, or the next collection's, requests the call again
            garbage = self._take_garbage()
            try:
                _call_all(self._observers, garbage)
            finally:
                garbage.clear()
                gc.collect()
        finally:
            self._working = False


def _call_all(observers: Sequence[Observer], garbage: list[Any]) -> None:
    """Call every observer with a list of its own, even if one of them raises."""
    if not observers:
        return
    shown = garbage.copy()
    try:
        observers[0](shown)
    finally:
        shown.clear()
        _call_all(observers[1:], garbage)


_saver = _Saver()


def observe(observer: Observer) -> Callable[[], None]:
    """Start observing. Returns a function that stops it; calling it again does nothing."""
    if not callable(observer):
        raise TypeError(f"observer must be callable, not {type(observer).__name__}")

    # A function of its own, so that each registration of the same observer can be removed.
    def call(garbage: list[Any]) -> object:
        return observer(garbage)

    _saver.add(call)
    return functools.partial(_saver.remove, call)
