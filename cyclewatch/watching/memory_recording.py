# SPDX-License-Identifier: Apache-2.0
"""Records where memory is allocated, and finds the call stacks that allocated an owner's memory."""

from __future__ import annotations

import gc
import os
import sys

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    # Path, line and function; innermost first.
    Stack = list[tuple[str, int, str]]

_MOST_FRAMES = 100  # per stack
# Maximum error, in microseconds, of the times in torch's history, which are computed from the
# processor's time stamp counter.
_TIME_ERROR = 100
_WARNING = 30  # level of logging
_FREED = ("free_requested", "free_completed")


class _Recording:
    """A recording of the process that several recorders share: the last one stops it."""

    def __init__(self) -> None:
        self._users = 0

    def join(self, is_on: Callable[[], bool], start: Callable[[], object]) -> bool:
        """Use the recording, and start it if it is off. False if the program has started it."""
        if is_on():
            self._users += self._users > 0
            return self._users > 0
        start()
        self._users += 1
        return True

    def leave(self, stop: Callable[[], object]) -> None:
        self._users -= 1
        if self._users == 0:
            stop()


_TRACES = _Recording()
_HISTORY = _Recording()


class MemoryRecorder:
    """Turns on torch's memory history or, for CPU tensors, tracemalloc.

    Recording starts as soon as it needs to import or initialize nothing: at once for CPU tensors,
    otherwise when the program has initialized CUDA. What the program records already is not
    changed. Several recorders share one recording with the settings of the first; the last one
    that stops ends it.
    """

    def __init__(self, entries: int, devices: list[str]) -> None:
        """Start recording now or later."""
        self._entries = entries
        self._process = os.getpid()
        self._stops: list[Any] = []
        # Whether to record CPU tensors. None: if no GPU is usable, which only torch can tell.
        self._traces = None if {"auto", "all"}.intersection(devices) else "cpu" in devices
        self._waits_for_cuda = any(device != "cpu" for device in devices)
        if self._traces:
            self._trace()
        gc.callbacks.append(self._on_collection)
        self.poke()

    def poke(self) -> None:
        """Start recording if that has become possible."""
        cuda = _cuda()
        if self._traces is None and cuda is not None:
            self._traces = not cuda.is_available()
            self._waits_for_cuda = not self._traces
            if self._traces:
                self._trace()
        if self._waits_for_cuda and getattr(cuda, "_initialized", False):
            self._waits_for_cuda = False
            self._record_history()
        if not self._waits_for_cuda and self._traces is not None:
            self._remove_callback()

    def stop(self) -> None:
        """Stop the recordings that this object has started. Idempotent."""
        self._traces, self._waits_for_cuda = False, False
        self._remove_callback()
        stops, self._stops = self._stops, []
        for stop in stops if self._process == os.getpid() else ():
            stop()

    def _trace(self) -> None:
        import tracemalloc

        frames = min(self._entries, _MOST_FRAMES)
        if _TRACES.join(tracemalloc.is_tracing, lambda: tracemalloc.start(frames)):
            self._stops.append(lambda: _TRACES.leave(tracemalloc.stop))

    def _record_history(self) -> None:
        memory: Any = sys.modules["torch.cuda.memory"]
        try:
            record = memory._record_memory_history
            if _HISTORY.join(
                sys.modules["torch._C"]._cuda_isHistoryEnabled,
                lambda: record(max_entries=self._entries, stacks="python"),
            ):
                self._stops.append(lambda: _HISTORY.leave(lambda: record(enabled=None)))
        except Exception as error:  # an allocator without a history
            from cyclewatch.watching.finding_warnings import log

            log(_WARNING, f"torch could not record its memory history ({type(error).__name__}).")

    def _remove_callback(self) -> None:
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)

    def _on_collection(self, phase: str, _info: dict[str, int]) -> None:
        cuda = _cuda()
        if phase == "stop" and cuda is not None and (self._traces is None or cuda._initialized):
            _native.call_soon(self.poke)


def _cuda() -> Any:
    """The module torch.cuda; None before it has been imported completely."""
    cuda = sys.modules.get("torch.cuda")
    is_complete = hasattr(cuda, "_initialized") and hasattr(cuda, "memory")
    return cuda if is_complete and hasattr(sys.modules.get("torch"), "Tensor") else None


def allocation_stacks(
    storages: list[tuple[int, int, int, bool, int, int]],
) -> list[Stack] | str | None:
    """Find the call stacks that allocated storages, in torch's memory history.

    Runs after a collection, on the main thread. May take seconds: torch creates a dict for each
    recorded event, and imports modules to name the frames.

    Args:
        storages: For each storage, the index of its cuda device, its address, its size, whether
            the collection freed it, and the times before and after that, in microseconds.

    Returns:
        One stack for each storage, empty if unknown. None if torch records no history. The name of
        the exception if the history cannot be read.
    """
    try:
        if not storages or not is_recorded(storages[0][0]):
            return None
        traces = sys.modules["torch.cuda.memory"]._snapshot()["device_traces"]
        return _stacks(traces, storages)
    except Exception as error:
        return type(error).__name__


def is_recorded(device: int) -> bool:
    """Whether torch records its memory history, and has used the device."""
    native = sys.modules.get("torch._C")
    if native is None or "torch.cuda.memory" not in sys.modules:
        return False
    if getattr(native, "_cuda_isInBadFork", bool)():
        return False
    try:
        # The flag is stored in the allocator of the device, which must exist.
        native._cuda_memoryStats(device)
        return bool(native._cuda_isHistoryEnabled())
    except Exception:
        return False


def _stacks(
    traces: list[list[Mapping[str, Any]]], storages: list[tuple[int, int, int, bool, int, int]]
) -> list[Stack]:
    events: dict[tuple[int, int], list[Mapping[str, Any]]] = {
        (device, address): [] for device, address, *_ in storages
    }
    for device in {device for device, _ in events}:
        for event in traces[device] if device < len(traces) else ():
            at = events.get((device, event.get("addr", 0)))
            if at is not None and event["action"] in ("alloc", *_FREED):
                at.append(event)
    return [
        _stack(_allocation(events[device, address], size, released, before, after))
        for device, address, size, released, before, after in storages
    ]


def _allocation(
    events: list[Mapping[str, Any]], size: int, released: bool, before: int, after: int
) -> Mapping[str, Any] | None:
    """The event that allocated a storage; None unless exactly one fits.

    The allocation has the storage's size and precedes the collection. A released storage was freed
    during the collection; another storage was not freed before the end of the collection.
    """

    def fits(allocated: Mapping[str, Any], freed: float | None) -> bool:
        if allocated["size"] != size or _time_of(allocated) > before + _TIME_ERROR:
            return False
        if not released:
            return freed is None or freed >= after - _TIME_ERROR
        return freed is not None and before - _TIME_ERROR <= freed <= after + _TIME_ERROR

    found = []
    last: Mapping[str, Any] | None = None  # the allocation that has not been freed yet
    for event in events:
        if event["action"] == "alloc":
            last = event  # drops an earlier one, because the time of its free is unknown
        elif last is not None:
            found += [last] if fits(last, _time_of(event)) else []
            last = None
    if last is not None and fits(last, None):
        found.append(last)
    return found[0] if len(found) == 1 else None


def _time_of(event: Mapping[str, Any]) -> float:
    # Older versions of torch do not record the time.
    return float(event.get("time_us", "inf"))


def _stack(event: Mapping[str, Any] | None) -> Stack:
    frames = event.get("frames") or () if event is not None else ()
    return [
        (str(frame["filename"]), int(frame["line"]), str(frame["name"]))
        for frame in frames[:_MOST_FRAMES]
    ]
