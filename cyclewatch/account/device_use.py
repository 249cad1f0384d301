# SPDX-License-Identifier: Apache-2.0
"""Reads what torch's allocator uses a CUDA device's memory for, without a call to the device."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TorchUse:
    """What torch's allocator has reserved on one device, in bytes.

    `allocated`, `pending`, `fragmented` and `cached` add up to `reserved`.

    Attributes:
        reserved: All segments.
        allocated: Blocks of tensors, and of C++ code.
        pending: Blocks that were freed, but that another stream may still use.
        fragmented: Free blocks in segments that are partly used.
        cached: Segments that are not used at all.
        largest_free: The largest free block; None if unknown.
        peak: The most bytes that were allocated at one time; None if unknown.
    """

    def __init__(
        self,
        reserved: int,
        allocated: int,
        pending: int,
        fragmented: int,
        cached: int,
    ) -> None:
        """Store the values."""
        self.reserved = reserved
        self.allocated = allocated
        self.pending = pending
        self.fragmented = fragmented
        self.cached = cached
        self.largest_free: int | None = None
        self.peak: int | None = None


def torch_use(device: int, *, segments: bool = False) -> TorchUse | None:
    """Read the counters of torch's allocator; None if torch has not used the device.

    Args:
        device: The index of the CUDA device.
        segments: Also list the segments, to find the largest free block. This may take a
            millisecond for each thousand blocks.
    """
    native: Any = getattr(sys.modules.get("torch"), "_C", None)
    try:
        statistics = native._cuda_memoryStats(device)
    except Exception:  # no torch, no CUDA support, or the device is not initialized
        return None
    use = use_from(statistics)
    if segments and use.reserved > use.allocated + use.pending:
        use.largest_free = _largest_free(native, device)
    return use


def use_from(statistics: dict[str, Any]) -> TorchUse:
    """As :func:`torch_use`, from the counters that torch has returned."""
    reserved, allocated = _current(statistics, "reserved"), _current(statistics, "allocated")
    reserved = max(reserved, allocated)
    pending = min(max(0, _current(statistics, "active") - allocated), reserved - allocated)
    rest = reserved - allocated - pending
    fragmented = min(_current(statistics, "inactive_split"), rest)
    use = TorchUse(reserved, allocated, pending, fragmented, rest - fragmented)
    use.peak = _counter(statistics, "allocated", "peak") or None
    return use


def _current(statistics: dict[str, Any], name: str) -> int:
    return _counter(statistics, name, "current")


def _counter(statistics: dict[str, Any], name: str, kind: str) -> int:
    # Other allocator backends do not fill all counters.
    return int(statistics.get(f"{name}_bytes", {}).get("all", {}).get(kind, 0))


def _largest_free(native: Any, device: int) -> int | None:
    try:
        if native._cuda_isHistoryEnabled():
            return None  # a snapshot would contain all recorded events
        segments = native._cuda_memorySnapshot(None)["segments"]
        return max(
            (
                int(block["size"])
                for segment in segments
                if segment["device"] == device
                for block in segment["blocks"]
                if block["state"] == "inactive"
            ),
            default=0,
        )
    except Exception:  # a private function of torch, which may change
        return None
