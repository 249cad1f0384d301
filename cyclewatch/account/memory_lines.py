# SPDX-License-Identifier: Apache-2.0
"""Divides the memory in use on a device into labeled lines that add up."""

from __future__ import annotations

import re
import sys

from cyclewatch import _native
from cyclewatch._native import format_bytes
from cyclewatch.account.gpu_processes import process_name
from cyclewatch.account.measurement import resident_bytes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cyclewatch._native import DeviceRecord, Finding, LiveOwner
    from cyclewatch.account.device_use import TorchUse
    from cyclewatch.account.measurement import Memory

DEAD, FROZEN, NEVER_FREED = "dead", "frozen", "never freed"
FRAGMENTED, CACHED, PENDING, CPP_ONLY = "fragmented", "cached", "pending", "C++ only"
HELD_BY_CPP = "held by C++"  # a category of tensors
PROCESSES, OTHERS, REST = "processes", "others", "rest"
FREE_HEAP = "free heap"
_MOST_PROCESSES = 4  # that are named
_MAX_NAMED_GROUPS = 2
# Memory deserves a next step if it is at least this part of the memory in use.
NOTABLE = 0.05
FRAGMENTED_STEP = (
    "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or allocate the largest tensors first"
)
REACHABLE = {
    "parameter": "parameters",
    "buffer": "buffers of modules",
    "gradient": "gradients",
    "optimizer state": "optimizer state",
    "saved for backward": "saved for backward",
    "activation": "activations",
    HELD_BY_CPP: "held by C++ only",
    "other": "other tensors",
}

# The key of a line, its label, and its size in bytes.
Entry = tuple[str, str, int]


class DeviceUse:
    """What CUDA and torch know about the memory of a device.

    Attributes:
        torch: What torch's allocator has reserved; None if torch has not used the device.
        parts: The parts of the memory; None if CUDA could not be queried.
        total: The capacity; None if unknown.
        in_use: The bytes in use by all processes, or else those that torch has reserved.
        source: How `in_use` was measured.
        peak: The most bytes that torch has allocated at one time; None if unknown.
        processes: The other processes that use the device, and their bytes; None if unknown.
    """

    def __init__(
        self,
        record: DeviceRecord | None,
        torch: TorchUse | None,
        processes: list[tuple[int, int]] | None = None,
    ) -> None:
        """Store the values. At least one of `torch` and `record.memory` must be known."""
        self.processes = processes
        self.torch = torch
        self.peak = None if torch is None else torch.peak
        self.parts = None if record is None else record.memory
        self.total = None if record is None else record.total
        if record is not None and record.memory is not None:
            self.in_use, self.source = record.total - record.memory.free, "CUDA, all processes"
        else:
            self.in_use = 0 if torch is None else torch.reserved
            self.source = "reserved by torch's allocator"


def process_entries(memory: Memory) -> list[Entry]:
    """The lines of the CPU account; they add up to the memory in use."""
    entries = [*_reachable_entries(memory.owners), *_dead_entries(memory)]
    return [*entries, *rest_entries(memory)]


def rest_entries(memory: Memory) -> list[Entry]:
    """The lines of the CPU account for what no tensor owns."""
    rest = memory.rest
    free = max(0, min(memory.free_heap, rest))
    entries = [(FREE_HEAP, "free, kept by malloc() for later allocations", free)] if free else []
    # Untouched pages are not resident.
    words = rest_words(memory.device) if rest >= 0 else "tensors that are not resident"
    return [*entries, (REST, words, rest - free)]


def cuda_entries(memory: Memory, use: DeviceUse) -> list[Entry]:
    """The lines of the account of a CUDA device; they add up to the memory in use."""
    own = [each for each in memory.owners if _belongs_to_torch(each.type)]
    foreign = sum(each.nbytes for each in memory.owners) - sum(each.nbytes for each in own)
    entries = [*_reachable_entries(own), *_dead_entries(memory)]
    if use.torch is not None:
        unowned = use.torch.allocated - sum(size for _, _, size in entries)
        label = "remainder of torch's allocations (C++ code, rounding of sizes)"
        entries.append((CPP_ONLY, label, unowned))
        entries += free_entries(use.torch)
    entries.append(("foreign", "reachable: arrays of other libraries", foreign))
    if use.parts is not None:
        # The arrays may have been allocated from the pool.
        pool_used = max(0, use.parts.pool_used - foreign)
        entries += [
            ("pool", "allocated with cudaMallocAsync() by other libraries", pool_used),
            ("pool cache", "cached by the pool of cudaMallocAsync()", use.parts.pool_cache),
            ("graphs", "reserved for captured CUDA graphs", use.parts.graphs),
        ]
    unexplained = "used by CUDA contexts, other libraries and other processes"
    if use.parts is not None and use.processes is not None:
        unexplained = "used by the CUDA context of this process and other libraries"
        total = sum(size for _, size in use.processes)
        entries.append((PROCESSES, _process_words(use.processes), total))
    return _bounded(entries, use.in_use, unexplained)


def key_of(finding: Finding) -> str:
    """The key of the line that contains the memory of a finding for dead cycles."""
    return {"never": FROZEN, "uncollectable": NEVER_FREED}.get(finding.collected, DEAD)


def free_entries(torch: TorchUse | None) -> list[Entry]:
    """The lines for what torch has reserved, but no tensor uses."""
    if torch is None:
        return []
    largest = ""
    if torch.largest_free is not None:
        largest = f"; largest free block {format_bytes(torch.largest_free)}"
    entries = [
        (PENDING, "freed, but another stream may still use it", torch.pending),
        (FRAGMENTED, f"free in partly used segments (fragmented{largest})", torch.fragmented),
        (CACHED, "free in whole segments (empty_cache() returns them)", torch.cached),
    ]
    return [entry for entry in entries if entry[2]]


def byte_table(rows: Iterable[tuple[int, str]]) -> str:
    """Rows of a size and its label: rounded, as in all sentences, and in bytes, which add up."""
    listed = [(rounded(size), f"{size:,}", label) for size, label in rows]
    width = max(len(exact) for _, exact, _ in listed)
    return "Bytes:\n" + "\n".join(
        f"  {short:>9}  {exact:>{width}}  {label}" for short, exact, label in listed
    )


def rounded(size: int) -> str:
    """A size as in all sentences; a remainder may be negative."""
    return f"{'-' * (size < 0)}{format_bytes(abs(size))}"


def similar_paths(group: LiveOwner) -> str:
    """Says that the path shown is one of several, if it is."""
    return _native.similar_paths(str(group.held_by[0]), group.count)


def largest_part(groups: Iterable[LiveOwner]) -> list[LiveOwner]:
    """Those of the groups that one remedy frees together, and that are larger than any others.

    For example, the tensors of different shapes in one list. The largest group comes first, as in
    `groups`.
    """
    parts: dict[tuple[str | None, str], list[LiveOwner]] = {}
    for number, each in enumerate(groups):
        path = each.held_by[0] if each.held_by else None
        key = (path.remedy, without_items(str(path))) if path is not None else (None, str(number))
        parts.setdefault(key, []).append(each)
    return max(parts.values(), key=bytes_of, default=[])


def without_items(path: str) -> str:
    """A path without the indexes and keys of its items."""
    return re.sub(r"\[[^]]*\]", "[]", path)


def bytes_of(part: list[LiveOwner]) -> int:
    """The bytes of several groups that are part of the memory in use."""
    return sum(map(resident_bytes_of, part))


def held_words(part: list[LiveOwner]) -> str:
    """What holds the result of :func:`largest_part`, whose groups must have paths."""
    path = str(part[0].held_by[0])
    similar = _native.similar_paths(path, sum(each.count for each in part))
    words = f"the largest {'part' if len(part) > 1 else 'group'}, {format_bytes(bytes_of(part))}"
    return f"{words}, is held by {path}{similar}"


def _process_words(processes: list[tuple[int, int]]) -> str:
    names = [
        f"{process_name(pid)} {format_bytes(size)}" for pid, size in processes[:_MOST_PROCESSES]
    ]
    names += ["..."] if len(processes) > _MOST_PROCESSES else []
    plural = "es" * (len(processes) != 1)
    return f"used by {len(processes)} other process{plural}: {', '.join(names)}"


def _bounded(entries: list[Entry], in_use: int, unexplained: str) -> list[Entry]:
    """Add what no entry explains. The sources are read one after the other, so that they may
    contradict each other slightly; no entry exceeds what is left."""
    rest = in_use
    bounded = []
    for key, label, size in entries:
        taken = min(rest, max(0, size))
        rest -= taken
        if taken:
            bounded.append((key, label, taken))
    if rest:
        bounded.append((OTHERS, unexplained, rest))
    return bounded


def _reachable_entries(owners: list[LiveOwner]) -> list[Entry]:
    sizes = dict.fromkeys(REACHABLE, 0)
    for owner in owners:
        sizes[owner.category] += resident_bytes_of(owner)
    return [(key, _reachable_words(key), size) for key, size in sizes.items() if size]


def _reachable_words(key: str) -> str:
    return f"{'tensors' if key == HELD_BY_CPP else 'reachable:'} {REACHABLE[key]}"


def _dead_entries(memory: Memory) -> list[Entry]:
    entries = []
    if memory.dead:
        entries.append((DEAD, dead_words(memory), memory.dead))
    if memory.frozen:
        entries.append((FROZEN, frozen_words(memory), memory.frozen))
    if memory.never_freed:
        entries.append((NEVER_FREED, never_freed_words(memory), memory.never_freed))
    return entries


def _belongs_to_torch(type_name: str) -> bool:
    """Whether torch's allocator owns the memory of a type. Unknown types do belong to torch."""
    module, _, name = type_name.partition(" (")[0].rpartition(".")
    namespace = getattr(sys.modules.get(module), "__dict__", {})
    found = namespace.get(name)
    if not isinstance(found, type) or module.partition(".")[0] == "torch":
        return True
    return getattr(sys.modules.get("torch"), "Tensor", None) in found.__mro__


def dead_words(memory: Memory) -> str:
    """The label of memory in dead cycles."""
    plural = "s" * (memory.cycles != 1)
    return f"dead in {memory.cycles} cycle{plural} (a collection frees them)"


def frozen_words(memory: Memory) -> str:
    """The label of memory in frozen cycles."""
    plural = "s" * (memory.frozen_cycles != 1)
    return (
        f"dead in {memory.frozen_cycles} frozen cycle{plural} "
        "(call gc.unfreeze(), then gc.collect())"
    )


def never_freed_words(memory: Memory) -> str:
    """The label of memory in cycles that no collection frees."""
    plural = "s" * (memory.never_freed_cycles != 1)
    return (
        f"never freed: dead in {memory.never_freed_cycles} cycle{plural} hidden from the collector"
    )


def names_of(groups: Sequence[LiveOwner]) -> str:
    """What holds the first groups, and the number of further ones. All must have paths."""
    names = [f"{each.held_by[0]}{similar_paths(each)}" for each in groups[:_MAX_NAMED_GROUPS]]
    more = len(groups) - len(names)
    return " and ".join(names) + (f" (and {more} more)" if more else "")


def absent_words(memory: Memory) -> str:
    """Why reachable tensors are larger than their lines; "" if they are not."""
    absent = sum(each.absent_bytes for each in memory.owners)
    if absent < NOTABLE * memory.in_use:
        return ""
    return (
        f"{format_bytes(absent)} of the reachable tensors are not part of the memory in use: they "
        "have not been written to, are read from a file only on demand, or have been swapped out."
    )


def unread_words(memory: Memory) -> str:
    """Which autograd graphs were not examined, and what holds them; "" if all were."""
    holders = memory.graph_holders
    where = f" Held by {names_of(holders)}." if holders else ""
    return memory.unread_graphs and memory.unread_graphs + where


def rest_words(device: str) -> str:
    """The label of memory in use that no Python tensor owns."""
    if device == "cpu":
        return "remainder, owned by no known tensor (C++ code, the interpreter, libraries)"
    return "remainder of torch's allocations (C++ code)"
