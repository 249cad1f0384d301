# SPDX-License-Identifier: Apache-2.0
"""Freezes older objects while a test is checked, so that a full collection is cheap.

All objects that are alive when a test begins are frozen (``gc.freeze``). A collection then visits
only objects that the test created, so cycles of older objects are not attributed to the test.
Freezing and unfreezing take constant time; only :meth:`Freezer.collect_everything` visits the whole
heap.
"""

from __future__ import annotations

import gc
import weakref

from cyclewatch.heap.collecting import collect


class _Canary:
    """Refers to itself, so only the collector can free it."""

    def __init__(self) -> None:
        self.me = self


class Freezer:
    """Keeps older objects frozen from the first :meth:`begin` to :meth:`close`.

    Does not freeze or unfreeze anything if the program has already frozen objects. Never enables or
    disables automatic collection.
    """

    def __init__(self, *, enabled: bool) -> None:
        """Create a freezer. It does not freeze anything before :meth:`begin`."""
        self.frozen_by_program = enabled and gc.get_freeze_count() > 0
        self._enabled = enabled and not self.frozen_by_program
        self._canary: _Canary | None = None
        self.is_open = False

    def begin(self) -> None:
        """Begin a test: collect older garbage and freeze all live objects."""
        collect()
        self.is_open = True
        self._freeze()

    def collect(self) -> bool:
        """Collect the test's garbage. Returns True if older objects were also examined."""
        canary = weakref.ref(self._canary) if self._canary is not None else None
        self._canary = None
        collect()
        if canary is None:
            return True
        if canary() is not None:  # the test froze its own objects
            self.collect_everything()
            return True
        self._canary = _Canary()
        return False

    def collect_everything(self) -> None:
        """Collect garbage in the whole heap, including the frozen objects."""
        if self._enabled:
            gc.unfreeze()
        collect()
        self._freeze()

    def close(self) -> None:
        """Unfreeze. A later collection frees any garbage among the objects that were frozen."""
        if self.is_open and self._enabled:
            gc.unfreeze()
        self.is_open = False
        self._canary = None

    def _freeze(self) -> None:
        if self._enabled:
            gc.freeze()
            self._canary = _Canary()
