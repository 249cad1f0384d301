# SPDX-License-Identifier: Apache-2.0
"""Measures the memory used by reachable tensors, tensors in dead cycles, and everything else."""

from __future__ import annotations

import contextlib
import sys

from cyclewatch import _native
from cyclewatch.account.device_use import TorchUse, torch_use
from cyclewatch.heap.scanning import memory_use, scan
from cyclewatch.proofs.torch_layout import is_free_threaded, memory_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cyclewatch._native import Finding, LiveOwner, Report

# Address space for the examination, whose own allocations could otherwise fail, too.
_RESERVE = 64 << 20  # bytes
_reserve: Any = None  # mmap.mmap
# Paths to what held the first graph with too many nodes: later ones are not read.
_first_holders: set[str] = set()
# Measured on x86-64 with torch 2.13, its compiler and transformers: a module takes 145 bytes for
# each block that Python allocates, as larger blocks are not counted.
_BYTES_PER_BLOCK = 150
# Three times as many as torch and transformers allocate; further ones are data of the program.
_MOST_BLOCKS_OF_MODULES = 2_000_000
# 60 MiB of C++ objects of torch; the rest is what malloc() keeps after some steps of training.
_USUAL_ALLOCATIONS = 128 << 20


class Memory:
    """A snapshot of the memory use of one device, in bytes.

    Attributes:
        device: "cpu", "cuda:0" ...
        requested: The size of the failed allocation; None if unknown.
        in_use: The bytes in use, as measured by `source`.
        limit: The capacity of the device, or a limit on its use; None if unknown.
        source: The source of `in_use`, such as "resident memory".
        dead: The bytes of tensors in cycles that the next collection will free, and of those that
            only their autograd graphs keep.
        cycles: The number of cycles that the next collection will free.
        frozen: The bytes of tensors in frozen cycles (``gc.freeze()``), which no collection frees.
        frozen_cycles: The number of frozen cycles.
        never_freed: The bytes of tensors in cycles that no collection frees, because they lead
            through hooks, views, gradients or NumPy arrays. Cycles through autograd nodes are
            searched for only if the program has called ``never_freed()``.
        never_freed_cycles: The number of these cycles.
        scan: The report of the scan that found the dead and frozen cycles.
        findings: The findings for the dead, the frozen and the never freed cycles.
        torch: What torch's allocator has reserved; None on the CPU, or if unknown.
        owners: The reachable tensors, grouped by type, shape, dtype and path, largest first.
        unread_graphs: A sentence about autograd graphs that were not read; "" if all were.
        graph_holders: The groups of `owners` that hold graphs with too many nodes, if known.
        free_heap: The resident bytes that malloc() keeps for later allocations, on the CPU; 0 if
            unknown.
        data_blocks: How many blocks Python has allocated, on the CPU, if they are so many that most
            belong to data of the program; otherwise 0.
        usual_rest: How large a remainder is normal on the CPU, for the libraries that are loaded.
        peak: The largest resident memory of the process, on the CPU; None if unknown.
    """

    # Of the CPU; see _divide_rest().
    usual_rest = free_heap = data_blocks = 0

    def __init__(
        self,
        device: str,
        requested: int | None,
        limit: int | None = None,
        *,
        in_allocation: bool = False,
    ) -> None:
        """Examine `device`. Does not collect garbage, initialize the device, or run code on it.

        `in_allocation`: torch is allocating memory, so that its objects may be incomplete.
        """
        self.device = device
        self.requested = requested
        layout = None if in_allocation or is_free_threaded() else memory_layout()
        found, never_freed, self.owners, self.unread_graphs, holders = memory_use(
            device, layout, examines_pages=device == "cpu" and not _is_limited()
        )
        self.graph_holders = _largest_graphs(holders)
        has_frozen = any(each.collected == "never" for each in found.findings)
        self._add_cycles(
            found, scan(devices=device, frozen=False) if has_frozen else found, never_freed.findings
        )
        self.torch: TorchUse | None = None
        self.peak: int | None = None
        if device == "cpu":
            self.in_use, self.limit, self.source = process_memory()
            heap = _native.shared_heap()
            self._divide_rest(process_status(), sys.getallocatedblocks(), heap)
        else:
            self.torch = torch_use(int(device.partition(":")[2]), segments=True)
            self.in_use = 0 if self.torch is None else self.torch.allocated
            self.limit, self.source = limit, "torch's allocator"

    def _divide_rest(
        self, status: bytes, blocks: int, heap: tuple[int, int] | None, process: str = "self"
    ) -> None:
        """Set the attributes of what no tensor owns, on the CPU.

        Args:
            status: The contents of /proc/PID/status.
            blocks: ``sys.getallocatedblocks()`` of the process.
            heap: ``_native.shared_heap()`` of the process.
            process: "self" or a process id.
        """
        self.peak = peak_from(status)
        self.usual_rest = usual_rest_from(status, blocks)
        self.data_blocks = blocks if blocks > _MOST_BLOCKS_OF_MODULES else 0
        # Free memory may be not resident: pages that were never used or that malloc_trim() has
        # returned. The kernel marks only the heap of the main thread.
        if heap is not None:
            allocated, free = heap
            self.free_heap = max(0, min(free, _resident_heap(process) - allocated))

    def _add_cycles(self, found: Report, unfrozen: Report, never_freed: list[Finding]) -> None:
        """Set the attributes of the cycles.

        Args:
            found: A scan of all objects.
            unfrozen: A scan without the frozen objects.
            never_freed: The findings for cycles that no collection frees.
        """
        self.scan = found
        dead = found.findings if found.retained_bytes else []
        dead.sort(key=dead_bytes_of, reverse=True)  # stable
        saved = sum(each.unowned_bytes or 0 for each in dead)
        self.dead = sum(each.attributed_bytes for each in dead)
        self.cycles = _cycles_in(dead)
        self.frozen = self.frozen_cycles = 0
        if any(each.collected == "never" for each in dead):
            self.frozen, self.dead = self.dead - unfrozen.retained_bytes, unfrozen.retained_bytes
            collectable = _cycles_in(unfrozen.findings if self.dead else [])
            self.frozen_cycles, self.cycles = self.cycles - collectable, collectable
        self.dead += saved
        self.never_freed = sum(each.attributed_bytes for each in never_freed)
        self.never_freed_cycles = _cycles_in(never_freed)
        self.findings = [*dead, *never_freed]

    @property
    def reachable(self) -> int:
        """The bytes in use of tensors that are reachable from Python."""
        return sum(map(resident_bytes_of, self.owners))

    @property
    def rest(self) -> int:
        """Bytes in use that no Python tensor owns; negative if dead tensors are not resident."""
        return self.in_use - self.reachable - self.dead - self.frozen - self.never_freed


def resident_bytes_of(group: LiveOwner) -> int:
    """The bytes of a group that are part of the memory in use."""
    return group.nbytes - group.absent_bytes


def dead_bytes_of(finding: Finding) -> int:
    """The bytes that the cycles of a finding keep, with those that their tensors have saved."""
    return finding.attributed_bytes + (finding.unowned_bytes or 0)


def keep_reserve() -> None:
    """Reserve address space by mapping pages that are never touched."""
    global _reserve
    if _reserve is None:
        import mmap  # late: `import cyclewatch` must be fast

        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        with contextlib.suppress(OSError, MemoryError):  # the next call tries again
            _reserve = mmap.mmap(-1, _RESERVE, flags=flags, prot=0)


def release_reserve() -> None:
    """Undo :func:`keep_reserve`, so that the examination can use the address space."""
    global _reserve
    if _reserve is not None:
        _reserve.close()
        _reserve = None


def _largest_graphs(holders: list[LiveOwner]) -> list[LiveOwner]:
    """The holders of the graphs with too many nodes, as far as they are known.

    `holders`: those of all graphs that were not read; of the largest graph, the first time.
    """
    global _first_holders
    _first_holders = _first_holders or {str(each.held_by[0]) for each in holders}
    return [each for each in holders if str(each.held_by[0]) in _first_holders] or holders


def _cycles_in(findings: list[Finding]) -> int:
    return sum(each.occurrences for each in findings)


def process_memory() -> tuple[int, int | None, str]:
    """The memory of this process in bytes, its limit, and the name of the measured quantity."""
    import resource

    with open("/proc/self/statm", "rb") as file:
        statm = file.read()
    # Usage when the allocation failed: includes the reserve, but not our own allocations.
    reserve = _RESERVE if _reserve is None else 0
    return use_from(statm, resource.getrlimit(resource.RLIMIT_AS)[0], reserve)


def _is_limited() -> bool:
    """Whether the address space is limited, which tensors use even if they are not resident."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def use_from(statm: bytes, limit: int, reserve: int = 0) -> tuple[int, int | None, str]:
    """As :func:`process_memory`, from the contents of /proc/PID/statm and RLIMIT_AS."""
    import resource

    pages = statm.split()
    page = resource.getpagesize()
    if limit != resource.RLIM_INFINITY:
        return min(int(pages[0]) * page + reserve, limit), limit, "address space"
    return int(pages[1]) * page, None, "resident memory"


def process_status() -> bytes:
    """The contents of /proc/self/status; empty if it cannot be read."""
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        return file.read()
    return b""


def peak_from(status: bytes) -> int | None:
    """The largest resident memory of a process so far, in bytes; None if unknown.

    `status`: the contents of /proc/PID/status.
    """
    return _from_status(status, b"VmHWM:")


def usual_rest_from(status: bytes, blocks: int) -> int:
    """How many resident bytes are normal without tensors: code, Python objects, allocators.

    Args:
        status: The contents of /proc/PID/status.
        blocks: ``sys.getallocatedblocks()`` of the process.
    """
    mapped = _from_status(status, b"RssFile:") or 0
    of_modules = min(blocks, _MOST_BLOCKS_OF_MODULES) * _BYTES_PER_BLOCK
    return mapped + of_modules + _USUAL_ALLOCATIONS


def _resident_heap(process: str) -> int:
    """The resident bytes of the heap of the main thread; 0 if unknown."""
    with contextlib.suppress(OSError, MemoryError), open(f"/proc/{process}/smaps", "rb") as file:
        is_heap = False
        for line in file:
            is_heap = is_heap or line.endswith(b"[heap]\n")
            if is_heap and line.startswith(b"Rss:"):
                return int(line.split()[1]) * 1024
    return 0


def _from_status(status: bytes, name: bytes) -> int | None:
    _, found, rest = status.partition(name)
    return int(rest.split()[0]) * 1024 if found else None
