# SPDX-License-Identifier: Apache-2.0
"""Reads fields of the dicts in a snapshot, which may contain anything."""

from __future__ import annotations

from cyclewatch.snapshots.pickle_data import SnapshotFormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# More than any device has, and small enough that the sum of all sizes has 64 bits.
_MAX_SIZE = 1 << 41
_MAX_ADDRESS = 1 << 64
# What a failed allocation requested may be more than any device has.
MAX_REQUEST = (1 << 64) - 1


def integer(data: Any, key: str, default: int | None = None, most: int = _MAX_SIZE) -> int:
    """A number that is not negative: an address, or at most `most`, by default 2 TiB.

    Raises:
        SnapshotFormatError: `data` is not a dict, or has no such number and there is no default.
    """
    value = data.get(key, default) if isinstance(data, dict) else None
    limit = _MAX_ADDRESS if key in ("address", "addr", "stream") else most
    if type(value) is not int or not 0 <= value <= limit:
        raise SnapshotFormatError(f"it is not a snapshot: {key!r} is missing or not a size")
    return value


def text(data: Any, key: str) -> str:
    """A string.

    Raises:
        SnapshotFormatError: `data` is not a dict, or has no such string.
    """
    value = data.get(key) if isinstance(data, dict) else None
    if type(value) is not str:
        raise SnapshotFormatError(f"it is not a snapshot: {key!r} is missing or not a string")
    return value


def items(data: Any, key: str, limit: int) -> list[Any]:
    """A list; empty if it is missing.

    Raises:
        SnapshotFormatError: `data` is not a dict, or the value is not a list or has more than
            `limit` items.
    """
    value = data.get(key, []) if isinstance(data, dict) else None
    if not isinstance(value, list):
        raise SnapshotFormatError(f"it is not a snapshot: {key!r} is not a list")
    if len(value) > limit:
        raise SnapshotFormatError(f"{key!r} has more than {limit:,} items")
    return value
