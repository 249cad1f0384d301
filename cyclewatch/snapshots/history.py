# SPDX-License-Identifier: Apache-2.0
"""The recorded events of a device: memory in use over time, and allocations that failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from cyclewatch.account.memory_lines import FRAGMENTED_STEP
from cyclewatch.snapshots.allocator_state import MAX_SMALL_REQUEST
from cyclewatch.snapshots.usage import Usage, on_device, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.snapshots.allocator_state import Event, Snapshot

_CHANGES = {"alloc": 1, "free_completed": -1}


@dataclass
class Failure:
    """An allocation that did not fit; `at` and `in_use` as in :class:`History`.

    `usable`: the segments in the snapshot that it could have used, unless its pool was private; set
    for the last failure.
    """

    event: Event
    at: float
    in_use: int
    usable: Usage = field(default_factory=Usage)


class History:
    """The recorded events of one device.

    Attributes:
        events: The number of events.
        is_timed: Whether torch recorded the time of the events.
        points: (seconds since the first event, bytes in use) after each change. The bytes are those
            that the program has requested. If `is_timed` is false, the first item is the number of
            the event instead. Empty if the history has gaps.
        failures: The allocations that failed, oldest first.
    """

    def __init__(self, snapshot: Snapshot, device: int) -> None:
        """Read the events, and count the bytes backwards from the blocks in the snapshot."""
        self.events = 0
        self.is_timed = True
        self.points: list[tuple[float, int]] = []
        self.failures: list[Failure] = []
        begin: float | None = None
        change = 0
        for event in snapshot.events(device):
            begin = event.time if begin is None else begin
            self.is_timed &= event.time is not None
            at = float(self.events)
            if begin is not None and event.time is not None:
                at = (event.time - begin) / 1e6
            self.events += 1
            if event.action == "oom":
                self.failures.append(Failure(event, at, change))
            elif event.action in _CHANGES:
                change += _CHANGES[event.action] * event.size
                self.points.append((at, change))
        if self.failures:
            last = self.failures[-1]
            last.usable = _usable(snapshot, device, last.event)
        self._start_at(_requested(snapshot, device) - change)

    def _start_at(self, base: int) -> None:
        self.points = [(at, base + change) for at, change in self.points]
        for failure in self.failures:
            failure.in_use += base
        if any(in_use < 0 for _, in_use in self.points):
            self.points = []  # some kinds of events were not recorded (skip_actions)

    @property
    def peak(self) -> tuple[float, int]:
        """The point with the most bytes."""
        return max(self.points, key=lambda point: point[1], default=(0.0, 0))


def _usable(snapshot: Snapshot, device: int, event: Event) -> Usage:
    return usage_of(
        segment
        for segment in on_device(snapshot, device)
        if segment.stream == event.stream and not segment.is_private and segment.serves(event.size)
    )


def _requested(snapshot: Snapshot, device: int) -> int:
    return sum(
        block.requested for segment in on_device(snapshot, device) for block in segment.blocks
    )


def reason(failure: Failure, usage: Usage, settings: dict[str, object]) -> tuple[str, str]:
    """Why an allocation did not fit, and what to do. `usage` is the device's in the snapshot."""
    size, device_free = failure.event.size, failure.event.free
    usable = failure.usable
    if usable.largest_free >= size:
        return "it would fit now, because memory was freed before the snapshot", ""
    if device_free >= size:
        return (
            "the device had enough free memory when the allocation failed, but torch needed a "
            "larger segment, or may only use a part of the device (memory fraction)"
        ), ""
    if usage.largest_free >= size or usable.free + device_free < size <= usage.free + device_free:
        small = "small blocks (requests of up to 1 MiB)"
        other = "large blocks" if size <= MAX_SMALL_REQUEST else small
        return f"enough memory is free, but only for {other}, other streams or private pools", ""
    if usage.free + device_free >= size:
        if settings.get("expandable_segments"):
            remedy = "allocate the largest tensors first, or split the allocation"
        else:
            remedy = FRAGMENTED_STEP
        return "enough memory is free, but in pieces (fragmentation)", remedy
    return "too little memory is free, even in pieces", "free or shrink the largest groups below"
