# SPDX-License-Identifier: Apache-2.0
"""Remembers in which test an owner was made that outlived it.

A loop may become garbage long after the test that made it: a module's fixture is torn down, a
later test empties a cache, a thread ends. What keeps such a loop from being blamed on whoever
runs then is this list: the owners that survived a test, with the test's name. The ones that a
collection frees tell whose loop it was.
"""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclewatch.watches import registered_types

if TYPE_CHECKING:
    import pytest

    from cyclewatch import Finding

_get_objects = gc.get_objects

# So many survivors more, and the whole heap is looked at in case they have become garbage.
_SURVIVORS = 64
# The same for objects of any kind.
_OBJECTS = 200_000


@dataclass(frozen=True, eq=False)
class Birth:
    """One owner that outlived the phase it was made in."""

    item: pytest.Item
    when: str
    type_name: str
    owner: weakref.ref[object]

    @property
    def alive(self) -> bool:
        """False once the owner has been freed, in whatever way."""
        return self.owner() is not None


class Births:
    """The survivors of the tests so far."""

    def __init__(self) -> None:
        """No test has run yet."""
        self._births: dict[int, Birth] = {}
        self._owners_limit = _SURVIVORS
        self._objects = 0

    def note(self, item: pytest.Item, when: str) -> None:
        """Add the owners among what the test has made so far. Runs no code of theirs."""
        types = _owner_types()
        survivors = _get_objects()
        self._objects += len(survivors) if when == "teardown" else 0
        if not types:
            return
        kinds: dict[type, bool] = {}
        for survivor in survivors:
            kind = type(survivor)
            if kind not in kinds:
                kinds[kind] = not types.isdisjoint(kind.__mro__)
            if kinds[kind] and not self._is_known(survivor):
                self._add(item, when, survivor)

    def _is_known(self, owner: object) -> bool:
        birth = self._births.get(id(owner))
        return birth is not None and birth.owner() is owner

    def _add(self, item: pytest.Item, when: str, owner: object) -> None:
        kind = type(owner)
        try:
            reference = weakref.ref(owner)
        except TypeError:
            return
        name = f"{kind.__module__}.{kind.__qualname__}"
        self._births[id(owner)] = Birth(item, when, name, reference)

    def before_collection(self) -> list[Birth]:
        """Those that a collection may free. Forgets the ones that are gone already."""
        self._births = {key: birth for key, birth in self._births.items() if birth.alive}
        return list(self._births.values())

    def crowded(self) -> bool:
        """Whether so much has survived that the whole heap should be looked at."""
        too_many_owners = len(self._births) > self._owners_limit and (
            len(self.before_collection()) > self._owners_limit
        )
        return too_many_owners or self._objects > _OBJECTS

    def looked_at_everything(self) -> None:
        """What is alive after a look at the whole heap is meant to be; wait for it to double."""
        self._owners_limit = max(_SURVIVORS, 2 * len(self.before_collection()))
        self._objects = 0


def parents_of(finding: Finding, dead: list[Birth]) -> list[Birth]:
    """Those of the owners `dead` in one collection that `finding` may have kept."""
    names = {owner.type for owner in finding.owners}
    return [birth for birth in dead if birth.type_name in names]


def _owner_types() -> set[type]:
    types = set(registered_types())
    # Tensors can exist only where torch is imported; a half imported one has none yet.
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if isinstance(tensor, type):
        types.add(tensor)
    return types
