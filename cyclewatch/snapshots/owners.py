# SPDX-License-Identifier: Apache-2.0
"""The Python owners of the blocks in a snapshot that dump_snapshot() wrote."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

from cyclewatch.snapshots.fields import integer, items, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cyclewatch.snapshots.allocator_state import Block

# The key that dump_snapshot() adds to the dict of a snapshot. torch ignores it.
KEY = "cyclewatch"
REACHABLE, DEAD, FROZEN = "reachable", "dead", "frozen"
UNOWNED, UNKNOWN = "unowned", "unknown"
_MAX_OWNERS = 4_000_000
_DEAD_WORDS = {DEAD: "dead in cycle", FROZEN: "dead in frozen cycle"}


class Owner(NamedTuple):
    """What uses a storage. `state` is "reachable", "dead" or "frozen".

    `text` is the path to the owner, or the cycle and the reference to cut. `signature` is that of
    the finding; "" for a reachable owner.
    """

    address: int
    state: str
    text: str
    signature: str


class Owners:
    """The owners of all storages, by device and address."""

    # The state and the text for other blocks.
    unowned = (UNOWNED, "C++ code only (no Python object owns it)")

    def __init__(self, data: Any) -> None:
        """Check and convert what dump_snapshot() has added to a snapshot.

        Raises:
            SnapshotFormatError: `data` has another structure.
        """
        remedies = {
            text(each, "signature"): text(each, "remedy")
            for each in items(data, "findings", _MAX_OWNERS)
        }
        devices: dict[int, list[Owner]] = {}
        for each in items(data, "owners", _MAX_OWNERS):
            devices.setdefault(integer(each, "device"), []).append(_owner(each, remedies))
        self._owners = {device: sorted(owners) for device, owners in devices.items()}
        self._addresses = {
            device: [owner.address for owner in owners] for device, owners in self._owners.items()
        }

    def of_block(
        self, device: int, address: int, size: int, requested: int, allocated: float | None
    ) -> Owner | None:
        """The owner of the storage in a live block; None if there is none."""
        del requested, allocated  # the owners are those at the time of the snapshot
        addresses = self._addresses.get(device, [])
        index = bisect_left(addresses, address)
        if index < len(addresses) and addresses[index] < address + max(size, 1):
            return self._owners[device][index]
        return None


def dead_text(state: str, signature: str, remedy: str) -> str:
    """Describe an owner that nothing refers to; `state` is "dead" or "frozen"."""
    return f"{_DEAD_WORDS[state]} {signature}".rstrip() + (f": {remedy}" if remedy else "")


def _owner(data: Any, remedies: dict[str, str]) -> Owner:
    state, path = text(data, "state"), text(data, "path")
    signature = text(data, "signature")
    if state in _DEAD_WORDS:
        words = dead_text(state, signature, remedies.get(signature, ""))
    else:
        words = f"{path or text(data, 'type')} ({text(data, 'category')})"
    return Owner(integer(data, "address"), state, words, signature)


@dataclass
class OwnedBlocks:
    """Live blocks with equivalent owners; `state`, `text` and `signature` as in :class:`Owner`.

    If the owners' paths differ in indexes, `text` contains "[x]" instead of the indexes.
    """

    state: str
    text: str
    signature: str
    nbytes: int = 0
    count: int = 0
    largest: int = 0  # block


def by_owner(
    blocks: Iterable[Block], unowned: tuple[str, str], state: str = "allocated"
) -> list[OwnedBlocks]:
    """The live blocks among `blocks` grouped by owner, largest group first.

    `unowned`: the state and the text for blocks without an owner. `state`: of the blocks.
    """
    groups: dict[str, OwnedBlocks] = {}
    for block in blocks:
        if block.state != state:
            continue
        owner = block.owner or Owner(block.address, *unowned, "")
        pattern = re.sub(r"\[\d+\]", "[x]", owner.text)
        group = groups.setdefault(pattern, OwnedBlocks(owner.state, owner.text, owner.signature))
        if group.text != owner.text:
            group.text = pattern
        group.nbytes += block.size
        group.count += 1
        group.largest = max(group.largest, block.size)
    return sorted(groups.values(), key=lambda group: -group.nbytes)
