# SPDX-License-Identifier: Apache-2.0
"""The segments, blocks and events in a snapshot of torch's allocator.

Formats of torch 2.1 to 2.15. Sizes are in bytes. A segment is memory that the allocator has
reserved on the device; it is divided into blocks without gaps.
"""

from __future__ import annotations

from typing import NamedTuple

from cyclewatch import _native
from cyclewatch.snapshots.fields import MAX_REQUEST, integer, text
from cyclewatch.snapshots.owners import KEY, Owner, Owners
from cyclewatch.snapshots.pickle_data import SnapshotFormatError
from cyclewatch.snapshots.report_owners import ReportOwners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from cyclewatch.snapshots.report_owners import Listed

MAX_BLOCKS = 4_000_000
MAX_SMALL_REQUEST = 1 << 20  # kSmallSize of torch's allocator
MAX_EVENTS = 4_000_000
_MAX_DEVICES = 1024
_MAX_FRAMES = 100  # of one stack
_STATES = {
    "active_allocated": "allocated",
    "active_pending_free": "pending",
    "active_awaiting_free": "pending",
    "inactive": "free",
}
_DEFAULT_POOL = (0, 0)

# (file, line, function) of the Python frames, innermost first.
Stack = tuple[tuple[str, int, str], ...]


class Block(NamedTuple):
    """A part of a segment. `requested` is the size before rounding; 0 for a free block.

    `state` is "allocated", "pending" (freed, but still in use by another stream) or "free". `stack`
    is None if the call stack was not recorded. `owner` is None if no Python object owns the block,
    or if the snapshot contains no owners.
    """

    address: int
    size: int
    requested: int
    state: str
    stack: Stack | None
    owner: Owner | None = None


class Segment(NamedTuple):
    """Memory that the allocator has reserved. `pool` is the name of its pool.

    Only allocations on `stream` use it; those of a private pool also need to be of this pool.
    `kind` is "small" or "large" if it serves only requests of up to 1 MiB, or only larger ones.
    """

    device: int
    size: int
    pool: str
    is_expandable: bool
    blocks: list[Block]
    is_private: bool = False
    stream: int = 0
    kind: str = ""

    @property
    def is_in_use(self) -> bool:
        """Whether a block is not free."""
        return any(block.state != "free" for block in self.blocks)

    def serves(self, size: int) -> bool:
        """Whether a request of this size may use the segment."""
        return self.kind in ("", "small" if size <= MAX_SMALL_REQUEST else "large")


class Event(NamedTuple):
    """What the allocator did. `free` is the free memory of the device, for "oom" only.

    `time` is in microseconds since the epoch; None if torch did not record it.
    """

    action: str
    address: int
    size: int
    free: int
    time: float | None
    stack: Stack | None
    stream: int = 0


class Snapshot:
    """A snapshot of one process.

    Attributes:
        name: The name of the file.
        segments: The segments of all devices.
        settings: The settings of the allocator, such as "expandable_segments"; may be empty.
        has_owners: Whether blocks have owners: those in the file, or those of another file.
        unowned: The state and the text for blocks without an owner.
    """

    def __init__(self, data: Any, name: str, owners: Owners | ReportOwners | None = None) -> None:
        """Check and convert the data of a pickle.

        Args:
            data: The data.
            name: The name of the file.
            owners: The owners in another file of the same process; by default, those in `data`.

        Raises:
            SnapshotFormatError: The data is not a snapshot.
        """
        if isinstance(data, list):
            data = {"segments": data}  # from torch.cuda.memory_snapshot()
        if not isinstance(data, dict) or not isinstance(data.get("segments"), list):
            raise SnapshotFormatError(
                "it is not a snapshot of torch's allocator: it has no list of segments"
            )
        self.name = name
        self._stacks: dict[int, Stack] = {}
        self._count = 0
        self.has_owners = owners is not None or KEY in data
        self._owners = Owners(data.get(KEY, {})) if owners is None else owners
        self.unowned = self._owners.unowned
        self._traces = _traces(data)
        self._allocated = self._allocation_times()
        self._freed: dict[int, list[Block]] = {}
        self.segments = [self._segment(each) for each in data["segments"]]
        settings = data.get("allocator_settings")
        self.settings: dict[str, Any] = settings if isinstance(settings, dict) else {}

    @property
    def devices(self) -> list[int]:
        """The devices with segments or events."""
        recorded = {device for device, trace in enumerate(self._traces) if trace}
        return sorted({segment.device for segment in self.segments} | recorded)

    def events(self, device: int) -> Iterator[Event]:
        """The recorded events of a device, oldest first."""
        for each in self._traces[device] if device < len(self._traces) else ():
            time = each.get("time_us") if isinstance(each, dict) else None
            action = text(each, "action")
            yield Event(
                action,
                integer(each, "addr", 0),
                integer(each, "size", 0, MAX_REQUEST)
                if action == "oom"
                else integer(each, "size", 0),
                integer(each, "device_free", 0),
                float(time) if isinstance(time, int | float) else None,
                self._stack(each),
                integer(each, "stream", 0),
            )

    def freed(self, device: int) -> list[Block]:
        """The blocks of the history that were freed while their owners were unreachable."""
        if not isinstance(self._owners, ReportOwners):
            return []
        if device not in self._freed:  # a history may have millions of events
            self._freed[device] = self._freed_blocks(device, self._owners)
        return self._freed[device]

    def _freed_blocks(self, device: int, owners: ReportOwners) -> list[Block]:
        allocated: dict[int, Event] = {}
        freed: dict[Listed, Block] = {}
        for event in self.events(device):
            if not owners.was_freed(device, event.address):
                continue
            if event.action == "alloc":
                allocated[event.address] = event
            elif event.action == "free_requested":
                listed = owners.freed_at(device, event.address, event.size, event.time)
                before = allocated.pop(event.address, None)
                stack = before.stack if before is not None else None
                if listed is not None:
                    block = Block(
                        event.address, event.size, event.size, "freed", stack, listed.owner
                    )
                    freed[listed] = block  # the last one before the report noticed
        return list(freed.values())

    def _allocation_times(self) -> dict[tuple[int, int], float]:
        """When the blocks in the history were last allocated, by device and address."""
        times: dict[tuple[int, int], float] = {}
        if isinstance(self._owners, ReportOwners):
            for device, trace in enumerate(self._traces):
                for each in trace:
                    if isinstance(each, dict) and each.get("action") == "alloc":
                        address, time = each.get("addr"), each.get("time_us")
                        if isinstance(address, int) and isinstance(time, int | float):
                            times[device, address] = float(time)
        return times

    def _segment(self, data: Any) -> Segment:
        address = integer(data, "address", 0)
        blocks = data.get("blocks")
        if not isinstance(blocks, list):
            raise SnapshotFormatError("it is not a snapshot: a segment has no list of blocks")
        self._count += len(blocks) + 1
        if self._count > MAX_BLOCKS:
            raise SnapshotFormatError(f"it has more than {MAX_BLOCKS:,} blocks")
        device = integer(data, "device", 0)
        if device >= _MAX_DEVICES:
            raise SnapshotFormatError(f"it has more than {_MAX_DEVICES:,} devices")
        converted = []
        for each in blocks:
            block = self._block(each, address, device)
            converted.append(block)
            address += block.size
        return Segment(
            device,
            integer(data, "total_size"),
            _pool(data),
            data.get("is_expandable") is True,
            converted,
            _is_private(data),
            integer(data, "stream", 0),
            _kind(data),
        )

    def _block(self, data: Any, address: int, device: int) -> Block:
        size, name = integer(data, "size"), text(data, "state")
        state = _STATES.get(name)
        if state is None:
            raise SnapshotFormatError(f"it has a block in an unknown state: {name[:50]}")
        requested = 0 if state == "free" else integer(data, "requested_size", size)
        owner = None
        if state == "allocated":
            allocated = self._allocated.get((device, address))
            owner = self._owners.of_block(device, address, size, requested, allocated)
        return Block(address, size, requested, state, self._stack(data), owner)

    def _stack(self, data: dict[str, Any]) -> Stack | None:
        frames = data.get("frames")
        if not isinstance(frames, list) or not frames:
            return None
        stack = self._stacks.get(id(frames))  # torch stores equal stacks once
        if stack is None:
            shown = (frame for frame in frames[:_MAX_FRAMES] if isinstance(frame, dict))
            places = [
                (text(frame, "filename"), integer(frame, "line", 0), text(frame, "name"))
                for frame in shown
            ]
            stack = tuple(place for place in places if _is_python(place[0]))
            self._stacks[id(frames)] = stack
        return stack


def location(stack: Stack | None) -> str:
    """One line that says where memory was allocated: the innermost frame of the user's code."""
    if stack is None:
        return "call stack not recorded"
    if not stack:
        return "C++ code"
    chosen = next((frame for frame in stack if _native.is_user_code(frame[0])), stack[0])
    return frame_text(chosen)


def frame_text(frame: tuple[str, int, str]) -> str:
    """``path:line in function``, on one line."""
    path, line, name = frame
    return _native.clean_text(f"{path}:{line} in {name}")


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyx")) or path.startswith("<")


def _pool_numbers(data: dict[str, Any]) -> Sequence[Any]:
    pool = data.get("segment_pool_id", _DEFAULT_POOL)
    return pool if isinstance(pool, tuple | list) else (pool,)


def _is_private(data: dict[str, Any]) -> bool:
    return any(_pool_numbers(data))


def _kind(data: dict[str, Any]) -> str:
    kind = data.get("segment_type")
    return kind if kind in ("small", "large") else ""


def _pool(data: dict[str, Any]) -> str:
    size = f"{_kind(data) or 'all'} blocks"
    if not _is_private(data):
        return size
    name = ", ".join(str(each) for each in _pool_numbers(data)[:2] if isinstance(each, int))
    return f"private pool ({name}), {size}"


def _traces(data: dict[str, Any]) -> list[list[Any]]:
    """The recorded events of each device."""
    traces = data.get("device_traces", [])
    if not isinstance(traces, list) or not all(isinstance(trace, list) for trace in traces):
        raise SnapshotFormatError("it is not a snapshot: the events are not lists")
    if len(traces) > _MAX_DEVICES:
        raise SnapshotFormatError(f"it has more than {_MAX_DEVICES:,} devices")
    if sum(map(len, traces)) > MAX_EVENTS:
        raise SnapshotFormatError(f"it has more than {MAX_EVENTS:,} events")
    return traces
