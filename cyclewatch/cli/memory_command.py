# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch memory``: accounts for the memory of a running process."""

from __future__ import annotations

import ast
import resource
from types import SimpleNamespace

from cyclewatch import _native
from cyclewatch.account import device_use, measurement
from cyclewatch.account.memory_account import MemoryAccount, check_device_name
from cyclewatch.account.memory_lines import DeviceUse
from cyclewatch.cli import remote_process, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from cyclewatch._native import Report

# As cyclewatch.memory(), without the package: measures, and leaves the calculation to this process.
# Finds never freed cycles only through NumPy arrays, because where torch stores references is
# verified by Python code that would remain loaded.
_EXAMINATION = """\
torch = sys.modules.get("torch")
cuda = getattr(torch, "cuda", None)
is_initialized = cuda is not None and cuda.is_initialized()
if not device:
    device = "cuda" if is_initialized else "cpu"
if device == "cuda":
    device = f"cuda:{cuda.current_device() if is_initialized else 0}"
counters = record = history = None
largest_free = 0
if device != "cpu":
    index = int(device.partition(":")[2])
    try:
        counters = torch._C._cuda_memoryStats(index)
    except Exception:
        pass  # no torch, no CUDA support, or the device is not initialized
    known = native.device_record(index, 0)
    if counters is None and (known is None or known.memory is None):
        raise ValueError(f"it has not used {device}, or it is not the current device")
layout = None if "t" in sys.abiflags else {}
dead, never_freed, owners, unread, holders = native.memory_use([device], None, layout, False)
holders = [index for index, each in enumerate(owners) if each in holders]
has_frozen = any(each.collected == "never" for each in dead.findings)
unfrozen = native.scan(2, False, [device], None) if has_frozen else dead
reports = [
    each.to_json() for each in (dead, unfrozen, never_freed, native.census_report(owners))
]
if device != "cpu":
    record = native.device_record(index, 0)
    if record is not None:
        parts = record.memory
        used = None if parts is None else (
            parts.free, parts.pool_used, parts.pool_cache, parts.graphs
        )
        record = record.total, used
    if counters is not None:
        counters = torch._C._cuda_memoryStats(index)
        try:
            if torch._C._cuda_isHistoryEnabled():
                raise ValueError  # a snapshot would contain all recorded events
            for segment in torch._C._cuda_memorySnapshot(None)["segments"]:
                for block in segment["blocks"] if segment["device"] == index else ():
                    if block["state"] == "inactive":
                        largest_free = max(largest_free, int(block["size"]))
        except Exception:
            largest_free = None
with open("/proc/self/statm", "rb") as file:
    statm = file.read()
with open("/proc/self/status", "rb") as file:
    status = file.read()
blocks, heap = sys.getallocatedblocks(), native.shared_heap()
graphs = unread, holders
text = repr((device, reports, statm, status, blocks, heap, counters, largest_free, record, graphs))
"""


def main(arguments: argparse.Namespace) -> int:
    """Print the account."""
    if arguments.device not in ("", "cuda"):
        try:
            check_device_name(arguments.device)
        except ValueError as error:
            raise Failure(str(error), Status.USAGE) from None
    account = examine(arguments.pid, arguments.device, arguments.timeout)
    if arguments.json:
        terminal.raw(account.to_json() + "\n")
    else:
        terminal.show(str(account))
    return Status.OK


def examine(pid: int, device: str, timeout: float) -> MemoryAccount:
    """Account for the memory of a process.

    Args:
        pid: The process.
        device: A name, or "" as for :func:`cyclewatch.memory`.
        timeout: As for :func:`remote_process.examine`.

    Raises:
        Failure: The process cannot be examined.
    """
    settings = {"device": device}
    data = remote_process.examine("memory", pid, timeout, _EXAMINATION, settings)
    measured = _Measured(pid, *ast.literal_eval(data.decode()))
    return MemoryAccount(measured, measured.use)


class _Measured(measurement.Memory):
    """The measurements of another process.

    Attributes:
        use: The use of the device; None on the CPU.
    """

    def __init__(
        self,
        pid: int,
        device: str,
        reports: list[str],
        statm: bytes,
        status: bytes,
        blocks: int,
        heap: tuple[int, int] | None,
        counters: dict[str, Any] | None,
        largest_free: int | None,
        record: tuple[int, tuple[int, ...] | None] | None,
        graphs: tuple[str, list[int]],
    ) -> None:
        """Take the results of the script."""
        self.device, self.requested = device, None
        found, unfrozen, never_freed, census = map(_report, reports)
        self.owners = census.live_owners
        self.unread_graphs = graphs[0]
        self.graph_holders = [self.owners[index] for index in graphs[1]]
        self._add_cycles(found, unfrozen, never_freed.findings)
        self.torch = self.use = self.peak = None
        if device == "cpu":
            limit = resource.prlimit(pid, resource.RLIMIT_AS)[0]
            self.in_use, self.limit, self.source = measurement.use_from(statm, limit)
            self._divide_rest(status, blocks, heap, str(pid))
            return
        if counters is not None:
            self.torch = device_use.use_from(counters)
            self.torch.largest_free = largest_free
        self.use = DeviceUse(_record(record), self.torch)
        self.in_use, self.limit, self.source = self.use.in_use, self.use.total, self.use.source


def _record(record: tuple[int, tuple[int, ...] | None] | None) -> Any:
    """The part of a DeviceRecord that DeviceUse needs."""
    if record is None:
        return None
    total, used = record
    names = ("free", "pool_used", "pool_cache", "graphs")
    memory = None if used is None else SimpleNamespace(**dict(zip(names, used, strict=True)))
    return SimpleNamespace(total=total, memory=memory)


def _report(text: str) -> Report:
    return _native.load_report(text.encode(), "the measurements of the process")
