# SPDX-License-Identifier: Apache-2.0
"""Compares the live blocks of snapshots by the call stacks that allocated them."""

from __future__ import annotations

import os
import re
from statistics import median
from typing import NamedTuple

from cyclewatch.snapshots.usage import by_stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch.snapshots.allocator_state import Snapshot, Stack
    from cyclewatch.snapshots.usage import Group

_RANK = re.compile(r"rank[-_ ]?(\d+)", re.IGNORECASE)


class Change(NamedTuple):
    """How the live blocks of one call stack changed; sizes in bytes."""

    stack: Stack | None
    nbytes_before: int
    nbytes_after: int
    count_before: int
    count_after: int

    @property
    def growth(self) -> int:
        """The additional bytes; negative if the blocks shrank."""
        return self.nbytes_after - self.nbytes_before


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """The call stacks whose live bytes differ, largest difference first."""
    old, new = by_stack(before.segments), by_stack(after.segments)
    found = []
    for group in {**new, **old}:
        one, other = old.get(group), new.get(group)
        known = one or other
        assert known is not None
        found.append(
            Change(
                known.stack,
                one.nbytes if one else 0,
                other.nbytes if other else 0,
                one.count if one else 0,
                other.count if other else 0,
            )
        )
    return sorted((each for each in found if each.growth), key=lambda each: -abs(each.growth))


class Divergence(NamedTuple):
    """How much one rank differs from the median of all ranks, or from the other one of two.

    Attributes:
        rank: The name of the rank.
        nbytes: The rank's live bytes.
        distance: The sum of the differences, over all call stacks.
        stacks: For each call stack that differs: (stack, the rank's bytes, the bytes with which
            they are compared), largest difference first.
    """

    rank: str
    nbytes: int
    distance: int
    stacks: list[tuple[Stack | None, int, int]]


def divergences(snapshots: Sequence[Snapshot]) -> list[Divergence]:
    """Compare each rank with the median of all ranks, most different first.

    Two ranks are compared with each other; the one with more live bytes comes first.
    """
    groups = [by_stack(snapshot.segments) for snapshot in snapshots]
    stacks: dict[Group, Stack | None] = {
        group: each.stack for found in groups for group, each in found.items()
    }
    sizes = [[found[key].nbytes if key in found else 0 for found in groups] for key in stacks]
    found = []
    for at, snapshot in enumerate(snapshots):
        expected = [row[1 - at] if len(row) == 2 else int(median(row)) for row in sizes]
        differing = [
            (stack, row[at], other)
            for stack, row, other in zip(stacks.values(), sizes, expected, strict=True)
            if row[at] != other
        ]
        differing.sort(key=lambda each: -abs(each[1] - each[2]))
        distance = sum(abs(mine - other) for _, mine, other in differing)
        nbytes = sum(row[at] for row in sizes)
        found.append(Divergence(rank_name(snapshot.name), nbytes, distance, differing))
    return sorted(found, key=lambda each: (-each.distance, -each.nbytes))


def rank_name(path: str) -> str:
    """``rank 3`` if the file name contains the number, else the file name."""
    name = os.path.basename(path)
    match = _RANK.search(name)
    return f"rank {match[1]}" if match else name
