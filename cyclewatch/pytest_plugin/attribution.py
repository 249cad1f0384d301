# SPDX-License-Identifier: Apache-2.0
"""Determines which test created a cycle that becomes garbage later.

A cycle may outlive its test, for example in a module-scoped fixture, a cache or a thread. Therefore
the tensor owners that survive a test are recorded together with the test. If a later collection
frees some of them, the cycle that kept them alive is attributed to that test.
"""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclewatch.watching.registered_owners import registered_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from cyclewatch import Finding

# The whole heap is checked after this many new survivors, or this many new objects of any kind.
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
    """The survivors of all tests."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._survivors: dict[int, Survivor] = {}
        self._limit = _MAX_SURVIVORS
        self._new_objects = 0

    def record(self, item: pytest.Item, when: str) -> None:
        """Add all owners that are not frozen. Frozen objects existed before the test began."""
        objects = gc.get_objects()
        self._new_objects += len(objects) if when == "teardown" else 0
        types = set(registered_types())
        # A partially imported torch has no Tensor.
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
        """Return the survivors that are still alive; remove the others."""
        self._survivors = {
            key: each for key, each in self._survivors.items() if each.owner() is not None
        }
        return list(self._survivors.values())

    def reassign_fixtures(self, ended: set[object], item: pytest.Item) -> bool:
        """Attribute to `item` the survivors created by the setup of a node in `ended`.

        pytest tears these nodes down together with `item`. Returns True if any of these survivors
        are alive.
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
        """Whether many objects have survived since :meth:`reset`; some may be garbage."""
        crowded = len(self._survivors) > self._limit and len(self.alive()) > self._limit
        return crowded or self._new_objects > _MAX_OBJECTS

    def reset(self) -> None:
        """Restart counting after a check of the whole heap."""
        self._limit = len(self.alive()) + _MAX_SURVIVORS
        self._new_objects = 0


def creators(finding: Finding, freed: Iterable[Survivor]) -> dict[pytest.Item, str]:
    """Map each test that created a survivor in `freed` to the phase in which it did so.

    A survivor is considered only if `finding` has a tensor owner of the same type.
    """
    names = {owner.type for owner in finding.owners}
    tests: dict[pytest.Item, str] = {}
    for survivor in freed:
        if survivor.type_name in names:
            tests.setdefault(survivor.item, survivor.when)
    return tests


def ended_nodes(item: pytest.Item, nextitem: pytest.Item | None) -> set[object]:
    """The collection nodes (class, module, ...) that pytest tears down together with `item`."""
    ended: set[object] = set(item.listchain()[:-1])
    return ended - set(nextitem.listchain()) if nextitem is not None else ended
