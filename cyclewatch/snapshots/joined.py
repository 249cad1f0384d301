# SPDX-License-Identifier: Apache-2.0
"""How many blocks of snapshots have an owner in another file."""

from __future__ import annotations

from cyclewatch._native import format_bytes
from cyclewatch.snapshots.usage import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cyclewatch.snapshots.allocator_state import Snapshot


def count(snapshots: Sequence[Snapshot], path: str) -> dict[str, Any]:
    """The live blocks with and without an owner, and the blocks that were freed.

    `path`: the file that contains the owners.
    """
    live = [
        block
        for snapshot in snapshots
        for block in blocks_of(snapshot.segments)
        if block.state == "allocated"
    ]
    owned = [block for block in live if block.owner is not None]
    freed = [
        block
        for snapshot in snapshots
        for device in snapshot.devices
        for block in snapshot.freed(device)
    ]
    return {
        "file": path,
        "blocks": len(live),
        "bytes": sum(block.size for block in live),
        "owned_blocks": len(owned),
        "owned_bytes": sum(block.size for block in owned),
        "freed_blocks": len(freed),
    }


def sentence(counts: dict[str, Any]) -> str:
    """The result of :func:`count` in words."""
    blocks = "block" if counts["blocks"] == 1 else "blocks"
    text = (
        f"Owners from {counts['file']}, which must be of the same process: "
        f"{counts['owned_blocks']:,} of {counts['blocks']:,} live {blocks}, "
        f"{format_bytes(counts['owned_bytes'])} of {format_bytes(counts['bytes'])}"
    )
    freed = counts["freed_blocks"]
    if freed:
        text += f", and {freed:,} {'block that was' if freed == 1 else 'blocks that were'} freed"
    return text
