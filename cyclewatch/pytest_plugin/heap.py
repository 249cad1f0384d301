# SPDX-License-Identifier: Apache-2.0
"""Keeps the heap small while tests are checked, so that a full collection is cheap.

Everything that is alive when a test begins is frozen (``gc.freeze``): a collection then looks at
what the test made and at nothing else. That is also what makes blame exact, for a loop of older
objects is not seen. Freezing and unfreezing splice lists and cost nothing; looking at the whole
heap costs what it always did, and is done only by :meth:`Heap.collect_everything`.
"""

from __future__ import annotations

import gc
import weakref

from cyclewatch.collecting import collect

_freeze = gc.freeze
_unfreeze = gc.unfreeze


class _Sentinel:
    """Holds itself, so that only the collector can free it: its weakref tells what was swept."""

    def __init__(self) -> None:
        self.me = self


class Heap:
    """What is frozen, from the first :meth:`begin` to :meth:`close`.

    A program that froze objects before is left alone: then nothing is frozen here, and nothing
    unfrozen. Neither is automatic collection ever switched on or off.
    """

    def __init__(self, *, freeze: bool) -> None:
        """Nothing is touched before :meth:`begin`."""
        # Counting walks the list of frozen objects, which is why it is asked only now.
        self.frozen_by_program = freeze and gc.get_freeze_count() > 0
        self._freezes = freeze and not self.frozen_by_program
        self.is_open = False
        self._old: weakref.ref[_Sentinel] | None = None
        self._young: _Sentinel | None = None

    def begin(self) -> None:
        """A test begins: what is alive is not its doing, and what is garbage by now is freed."""
        self.is_open = True
        collect()
        if self._freezes:
            if self._old is None or self._old() is None:
                # Garbage from here on, but frozen: it lives until somebody unfreezes.
                self._old = weakref.ref(_Sentinel())
            _freeze()
            self._young = _Sentinel()

    def collect(self) -> bool:
        """Collect what the test made. True if older objects may have been collected with it.

        A test that froze its own objects is looked through all the same.
        """
        if not self._freezes:
            collect()
            return True
        young = weakref.ref(self._young) if self._young is not None else None
        self._young = None
        collect()
        if young is not None and young() is not None:
            self.collect_everything()
            return True
        self._young = _Sentinel()
        return self._old is None or self._old() is None

    def collect_everything(self) -> None:
        """Collect among all objects, which takes as long as it would without freezing."""
        if self._freezes:
            _unfreeze()
        collect()
        if self._freezes:
            _freeze()
            self._young = _Sentinel()

    def close(self) -> None:
        """Thaw what was frozen. Garbage among it is left to the next collection."""
        if self.is_open and self._freezes:
            _unfreeze()
        self.is_open = False
        self._old = self._young = None
