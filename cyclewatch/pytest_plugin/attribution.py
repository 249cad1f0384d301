# SPDX-License-Identifier: Apache-2.0
"""Finds out which test created a cycle that becomes garbage later.

That may happen long after the test: a module's fixture is torn down, a later test empties a cache,
a thread ends. So the tensor owners that survive a test are recorded with the test. If a collection
frees some of them, the cycle in which they were belongs to the test that created them.
"""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclewatch.watches import registered_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from cyclewatch import Finding

# The whole heap is checked after so many more survivors, or surviving objects of any kind.
_MAX_SURVIVORS = 64
_MAX_OBJECTS = 200_000


@dataclass(eq=False)
class Survivor:
    """A tensor owner that survived the phase in which it was created."""

    item: pytest.Item
    when: str
    type_name: str
    owner: weakref.ref[object]


class Survivors:
    """The survivors of all tests so far."""

    def __init__(self) -> None:
        """No test has run yet."""
        self._survivors: dict[int, Survivor] = {}
        self._limit = _MAX_SURVIVORS
        self._new_objects = 0

    def record(self, item: pytest.Item, when: str) -> None:
        """Add the owners among the objects that the test has created and that are not frozen."""
        objects = gc.get_objects()
        self._new_objects += len(objects) if when == "teardown" else 0
        types = set(registered_types())
        # Tensors can exist only if torch is imported; a half imported one has no Tensor yet.
        tensor = getattr(sys.modules.get("torch"), "Tensor", None)
        if isinstance(tensor, type):
            types.add(tensor)
        is_owner: dict[type, bool] = {}
        for each in objects:
            kind = type(each)
            if kind not in is_owner:
                is_owner[kind] = not types.isdisjoint(kind.__mro__)
            if is_owner[kind]:
                self._add(item, when, each)

    def _add(self, item: pytest.Item, when: str, owner: object) -> None:
        known = self._survivors.get(id(owner))
        if known is not None and known.owner() is owner:
            return
        kind = type(owner)
        try:
            reference = weakref.ref(owner)
        except TypeError:
            return
        name = f"{kind.__module__}.{kind.__qualname__}"
        self._survivors[id(owner)] = Survivor(item, when, name, reference)

    def alive(self) -> list[Survivor]:
        """Those that the next collection may free. Forgets those that are gone already."""
        self._survivors = {
            key: each for key, each in self._survivors.items() if each.owner() is not None
        }
        return list(self._survivors.values())

    def reassign_fixtures(self, ended: set[object], item: pytest.Item) -> bool:
        """Attribute what was set up for the classes and modules `ended` to `item`, which ends them.

        Returns True if any of that is still alive.
        """
        found = False
        for each in self.alive() if ended else []:
            is_older = each.when == "setup" and each.item is not item
            if is_older and not ended.isdisjoint(each.item.listchain()):
                each.item = item
                found = True
        return found

    @property
    def should_check_everything(self) -> bool:
        """Whether much has survived since :meth:`reset`, some of which may be garbage now."""
        crowded = len(self._survivors) > self._limit and len(self.alive()) > self._limit
        return crowded or self._new_objects > _MAX_OBJECTS

    def reset(self) -> None:
        """Count from here: the whole heap has been checked."""
        self._limit = len(self.alive()) + _MAX_SURVIVORS
        self._new_objects = 0


def creators(finding: Finding, freed: Iterable[Survivor]) -> dict[pytest.Item, str]:
    """The tests, with the phase, that created `freed` survivors which `finding` may have kept."""
    names = {owner.type for owner in finding.owners}
    tests: dict[pytest.Item, str] = {}
    for survivor in freed:
        if survivor.type_name in names:
            tests.setdefault(survivor.item, survivor.when)
    return tests


def ended_nodes(item: pytest.Item, nextitem: pytest.Item | None) -> set[object]:
    """The class, module and so on that pytest tears down together with `item`."""
    ended: set[object] = set(item.listchain()[:-1])
    return ended - set(nextitem.listchain()) if nextitem is not None else ended
