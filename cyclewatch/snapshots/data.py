# SPDX-License-Identifier: Apache-2.0
"""Describes snapshots as plain data, for JSON and the page. Sizes are in bytes."""

from __future__ import annotations

from dataclasses import asdict

from cyclewatch.snapshots import comparison
from cyclewatch.snapshots.allocator_state import location
from cyclewatch.snapshots.history import History, reason
from cyclewatch.snapshots.owners import by_owner
from cyclewatch.snapshots.text import damage_text, growth_headline, headline
from cyclewatch.snapshots.usage import (
    blocks_of,
    by_pool,
    by_segment_size,
    by_stack,
    on_device,
    usage_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cyclewatch.snapshots.allocator_state import Snapshot, Stack
    from cyclewatch.snapshots.owners import OwnedBlocks
    from cyclewatch.snapshots.usage import Usage

_MAX_POINTS = 1000


def describe(snapshots: Sequence[Snapshot], top: int, compares_ranks: bool) -> dict[str, Any]:
    """Each snapshot, and the growth between two or the differences between ranks."""
    described: dict[str, Any] = {
        "snapshots": [
            {
                "file": snapshot.name,
                "damage": damage_text(snapshot) or None,
                "devices": [_device(snapshot, device, top) for device in snapshot.devices],
            }
            for snapshot in snapshots
        ]
    }
    if compares_ranks:
        reference = "other" if len(snapshots) == 2 else "median"
        described["ranks"] = [
            {
                "rank": each.rank,
                "allocated": each.nbytes,
                "distance": each.distance,
                "stacks": [
                    {**_stack(stack), "bytes": mine, reference: other}
                    for stack, mine, other in each.stacks[:top]
                ],
            }
            for each in comparison.divergences(snapshots)
        ]
    elif len(snapshots) == 2:
        described["headline"] = growth_headline(*snapshots)
        described["changes"] = [
            {
                **_stack(each.stack),
                "growth": each.growth,
                "bytes_before": each.nbytes_before,
                "bytes_after": each.nbytes_after,
                "blocks_before": each.count_before,
                "blocks_after": each.count_after,
            }
            for each in comparison.changes(*snapshots)[:top]
        ]
    return described


def _device(snapshot: Snapshot, device: int, top: int) -> dict[str, Any]:
    segments = on_device(snapshot, device)
    usage, history = usage_of(segments), History(snapshot, device)
    groups = list(by_stack(segments).values())
    unowned = snapshot.unowned
    owners = by_owner(blocks_of(segments), unowned) if snapshot.has_owners else []
    freed = by_owner(snapshot.freed(device), unowned, "freed")
    return {
        "device": f"cuda:{device}",
        "headline": headline(usage, device, owners),
        "usage": asdict(usage),
        "pools": [{"pool": name, **asdict(each)} for name, each in by_pool(segments).items()],
        "segment_sizes": [
            {"size": name, **asdict(each)} for name, each in by_segment_size(segments).items()
        ],
        "owners": _owners(owners[:top]),
        "omitted_owners": max(0, len(owners) - top),
        "freed": _owners(freed[:top]),
        "omitted_freed": max(0, len(freed) - top),
        "allocations": [
            {
                **_stack(each.stack),
                "bytes": each.nbytes,
                "blocks": each.count,
                "largest": each.largest,
                "owners": _owners(by_owner(each.blocks, unowned)[:top])
                if snapshot.has_owners
                else [],
            }
            for each in groups[:top]
        ],
        "omitted_allocations": max(0, len(groups) - top),
        "events": history.events,
        "time_unit": "seconds" if history.is_timed else "events",
        "peak": history.peak[1],
        "points": _thinned(history.points),
        "failures": _failures(history, usage, snapshot.settings),
    }


def _failures(
    history: History, usage: Usage, settings: dict[str, object]
) -> list[dict[str, object]]:
    described: list[dict[str, object]] = [
        {
            **_stack(failure.event.stack),
            "at": failure.at,
            "requested": failure.event.size,
            "device_free": failure.event.free,
            "reason": None,
            "remedy": None,
        }
        for failure in history.failures[-_MAX_POINTS:]
    ]
    if described:
        last = reason(history.failures[-1], usage, settings)
        described[-1]["reason"], described[-1]["remedy"] = last
    return described


def _owners(owners: Sequence[OwnedBlocks]) -> list[dict[str, object]]:
    return [
        {
            "owner": each.text,
            "state": each.state,
            "signature": each.signature or None,
            "bytes": each.nbytes,
            "blocks": each.count,
            "largest": each.largest,
        }
        for each in owners
    ]


def _stack(stack: Stack | None) -> dict[str, object]:
    frames = None if stack is None else [list(frame) for frame in stack]
    return {"location": location(stack), "stack": frames}


def _thinned(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """At most about 1,000 points: the lowest and the highest of each interval."""
    size = max(1, 2 * len(points) // _MAX_POINTS)
    if size <= 2:
        return points
    kept: list[tuple[float, int]] = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        kept += sorted({min(part, key=_bytes), max(part, key=_bytes)})
    return kept


def _bytes(point: tuple[float, int]) -> int:
    return point[1]
