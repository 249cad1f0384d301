# SPDX-License-Identifier: Apache-2.0
"""Accounts for the memory in use on a device: lines that add up, and what to do next."""

from __future__ import annotations

import sys

from cyclewatch import _native
from cyclewatch._native import clean_text, format_bytes
from cyclewatch.account import measurement
from cyclewatch.account.device_use import torch_use
from cyclewatch.account.gpu_processes import other_processes
from cyclewatch.account.memory_lines import (
    CACHED,
    CPP_ONLY,
    DEAD,
    FRAGMENTED,
    FRAGMENTED_STEP,
    FREE_HEAP,
    FROZEN,
    HELD_BY_CPP,
    NEVER_FREED,
    NOTABLE,
    OTHERS,
    PENDING,
    PROCESSES,
    REACHABLE,
    REST,
    DeviceUse,
    Entry,
    absent_words,
    byte_table,
    cuda_entries,
    held_words,
    key_of,
    largest_part,
    process_entries,
    unread_words,
    without_items,
)
from cyclewatch.account.next_steps import (
    OF_GRAPH,
    is_holder_named,
    step_of_category,
    step_of_group,
    unread_graph_step,
)
from cyclewatch.code.code_roots import update_roots
from cyclewatch.settings.configuration import read_configuration
from cyclewatch.watching.watches import active_watch
from cyclewatch.wording import owner_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cyclewatch._native import Finding, GrowingOwner, LiveOwner, Report
    from cyclewatch.watching.watches import Watch

_MAX_HOLDERS = 10

# Those of lines without groups of tensors; step_of_category() has the others.
_NEXT_STEPS = {
    PENDING: "the memory is free once the other stream has finished",
    CACHED: "nothing is lost: torch uses this memory for the next tensors, and "
    "torch.cuda.empty_cache() returns it to the device",
    FREE_HEAP: "nothing is lost: the next tensors and objects use this memory, and "
    "`ctypes.CDLL(None).malloc_trim(0)` returns it to the system",
    CPP_ONLY: "record torch's memory history and read it with cyclewatch snapshot, to see which "
    "calls allocated it",
    PROCESSES: "end them, or select another device with CUDA_VISIBLE_DEVICES",
    OTHERS: "nvidia-smi lists the processes that use the device",
    REST: "up to {usual} is normal for the modules that are loaded; if it is arrays of a library, "
    "call cyclewatch.register_owner() for their type",
}

# How a sentence names the memory of a line whose label begins with "reachable: ".
_IN_SENTENCES = {
    "saved for backward": "tensors saved for backward",
    "other": "other reachable tensors",
}


# Lines to which the tensors of graphs that were not read belong.
_OF_UNREAD_GRAPH = (*OF_GRAPH, HELD_BY_CPP, CPP_ONLY, REST)


class MemoryAccount:
    """What the memory in use on one device is used for. Returned by :func:`memory`.

    ``str()`` is a card: the verdict, the exact number of bytes of each line, the cards of the
    cycles, and the largest groups of reachable tensors.

    Attributes:
        device: "cpu", "cuda:0" ...
        in_use: The bytes in use; the sum of `lines`.
        total: The capacity of the device or the limit of the process; None if unknown.
        source: How `in_use` was measured, such as "resident memory".
        peak: The most bytes that torch has allocated on the device at one time, since the start or
            ``torch.cuda.reset_peak_memory_stats()``; for the CPU, the largest resident memory. None
            if unknown.
        lines: Pairs of a label and a number of bytes. On the CPU, the lines of reachable tensors
            contain only what is resident: without what has not been written to, is read from a file
            only on demand, or has been swapped out. This is not known of dead tensors, of
            those below 1 MiB, nor beyond the largest 16 GiB, so that a line may be negative.
        verdict: One sentence: the bytes in use, what most of them are, and what to do next.
        findings: The findings for the dead cycles, including those that no collection frees.
        holders: The largest groups of reachable tensors, largest first.
        notes: Sentences about what was not examined, such as autograd graphs with more than 10,000
            nodes, whose tensors are part of the remainder.

    Examples:
        >>> trainer = Trainer()
        >>> account = cyclewatch.memory("cpu")
        >>> account.in_use == sum(size for _, size in account.lines)
        True
        >>> account.holders[0].nbytes
        4096
    """

    def __init__(
        self,
        memory: measurement.Memory,
        use: DeviceUse | None = None,
        growing: Sequence[GrowingOwner] = (),
    ) -> None:
        """Internal; use :func:`memory`."""
        self.device = memory.device
        self.findings: list[Finding] = list(memory.findings)
        self.holders: list[LiveOwner] = memory.owners[:_MAX_HOLDERS]
        self._omitted = len(memory.owners) - len(self.holders)
        self._groups = memory.owners
        self._graph_holders = memory.graph_holders
        self._usual_rest = memory.usual_rest
        self._unread_graphs = memory.unread_graphs
        self._data_blocks = memory.data_blocks
        self.notes = [each for each in (absent_words(memory), unread_words(memory)) if each]
        self.in_use, self.total, self.source = memory.in_use, memory.limit, memory.source
        if use is not None:
            self.in_use, self.total, self.source = use.in_use, use.total, use.source
        entries = cuda_entries(memory, use) if use is not None else process_entries(memory)
        self.peak = memory.peak if use is None else use.peak
        self._entries = entries
        self.lines = [(label, size) for _, label, size in entries]
        self.verdict = _verdict(self, entries, growing)

    def __str__(self) -> str:
        rows = [*self.lines, (f"in use ({self.source})", self.in_use)]
        parts = [self.verdict, byte_table((size, label) for label, size in rows)]
        parts += [limits] if (limits := self._limits()) else []
        parts += self.notes
        large = [each for each in self.findings if self._is_notable(each)]
        parts += [each.to_text(rank).rstrip() for rank, each in enumerate(large, 1)]
        if self.holders:
            lines = owner_lines(self.holders, self._omitted)
            parts.append("\n".join(["Largest reachable tensors:", *lines]))
        small = [clean_text(each.headline) for each in self.findings if each not in large]
        if small:
            parts.append("\n  ".join(["Dead, but less than 5 % of the memory of tensors:", *small]))
        return "\n\n".join(parts)

    def _limits(self) -> str:
        """What is not part of the sum: the capacity and the peak."""
        of_peak = "resident memory" if self.device == "cpu" else "torch's allocations"
        sizes = (("Total", self.total), (f"Peak of {of_peak} so far", self.peak))
        return "\n".join(
            f"{label}: {format_bytes(size)} ({size:,} bytes)"
            for label, size in sizes
            if size is not None
        )

    def _is_notable(self, finding: Finding) -> bool:
        others = (REST, FREE_HEAP, OTHERS, PROCESSES)
        known = sum(size for key, _, size in self._entries if key not in others)
        return measurement.dead_bytes_of(finding) >= NOTABLE * known

    def __repr__(self) -> str:
        return f"<MemoryAccount of {self.device}: {format_bytes(self.in_use)} in use>"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"

    def to_json(self) -> str:
        """Return the account as JSON; sizes are in bytes.

        Examples:
            >>> import json
            >>> account = json.loads(cyclewatch.memory("cpu").to_json())
            >>> sorted(account)[:6]
            ['device', 'findings', 'holders', 'in_use', 'lines', 'notes']
        """
        import json

        return json.dumps(
            {
                "device": self.device,
                "in_use": self.in_use,
                "total": self.total,
                "source": self.source,
                "peak": self.peak,
                "verdict": self.verdict,
                "notes": self.notes,
                "lines": [{"label": label, "bytes": size} for label, size in self.lines],
                "findings": [
                    {"signature": each.signature, "headline": each.headline}
                    for each in self.findings
                ],
                "holders": [
                    {
                        "type": each.type,
                        "category": each.category,
                        "bytes": each.nbytes,
                        "count": each.count,
                        "held_by": [str(path) for path in each.held_by],
                    }
                    for each in self.holders
                ],
            },
            indent=1,
        )


def record(account: MemoryAccount, occasion: str, watch: Watch | None = None) -> None:
    """Add an account to the report of a watch; by default, the latest active one, if any."""
    watch = watch or active_watch()
    if watch is None:
        return
    watch._native_watch.add_account(_as_record(account, occasion))


def report_of(memory: measurement.Memory, account: MemoryAccount, occasion: str) -> Report:
    """A report of what has been measured, and of what the latest active watch has found.

    `account`: its account, which has been recorded if there is a watch.
    """
    watch = active_watch()
    base = memory.scan if watch is None else watch.report()
    findings = [] if watch is None else base.findings
    known = {each.signature for each in findings}
    findings += [each for each in memory.findings if each.signature not in known]
    record = _as_record(account, occasion)
    return _native.account_report(base, memory.scan, findings, memory.owners, record)


def _as_record(account: MemoryAccount, occasion: str) -> _native.AccountRecord:
    return _native.AccountRecord(
        account.device,
        occasion,
        account.in_use,
        account.total,
        account.source,
        account.peak,
        account.verdict,
        account._entries,
        [each.signature for each in account.findings],
        account.holders,
        account.notes,
    )


def memory(device: object = None) -> MemoryAccount:
    """Account for all memory in use on a device, with what to do next in the first line.

    Nothing is freed, and no code of the program runs except readers registered with
    :func:`register_owner`::

        print(cyclewatch.memory())

    The lines of the account add up to the bytes in use. On a CUDA device, these are the bytes that
    CUDA reports as used by all processes, or, if the device is not the current device of the
    calling thread, the bytes that torch has reserved. On the CPU, they are the resident memory of
    the process, or its address space if ``RLIMIT_AS`` is set.

    If the latest watch takes censuses (`census_every`) and has found a group of tensors that keeps
    growing, the first line names that group and its growth. The report of the latest watch that is
    active shows the account.

    Memory that is never freed is found if its cycle leads through hooks, views or gradients of
    tensors or through NumPy arrays. Once the program has called :func:`never_freed`, or a watch
    with ``never_freed=True`` has ended a step, autograd graphs are followed, too, except during a
    backward pass.

    Takes about as long as four to five collections.

    Args:
        device: "cpu", "cuda", "cuda:1", or a ``torch.device``. By default, the current CUDA device
            if the program has initialized CUDA with torch, otherwise the CPU.

    Raises:
        TypeError: `device` is neither a name nor a ``torch.device``.
        ValueError: `device` is another kind of device, or the program has not used it.
        RuntimeError, MemoryError: As in :func:`scan`.

    Examples:
        >>> cyclewatch.memory("cpu").verdict.partition(",")[0]
        '... in use on cpu'
    """
    account = measure(device)
    record(account, "request")
    return account


def measure(device: object = None) -> MemoryAccount:
    """As :func:`memory`, without adding the account to a report."""
    name = _device_name(device)
    read_configuration()
    update_roots()
    if name != "cpu":
        index = int(name.partition(":")[2])
        known = _native.device_record(index, 0) if torch_use(index) is None else None
        if torch_use(index) is None and (known is None or known.memory is None):
            raise ValueError(f"the program has not used {name}, or it is not the current device")
    return of_measured(measurement.Memory(name, None), with_processes=True)


def of_measured(memory: measurement.Memory, *, with_processes: bool = False) -> MemoryAccount:
    """The account of what has been measured.

    `with_processes`: ask NVML for the other processes. NVML releases the GIL, so not while torch
    is allocating memory: another thread with the GIL may wait for the allocator.
    """
    growing = _growing(memory)
    if memory.device == "cpu":
        return MemoryAccount(memory, growing=growing)
    index = int(memory.device.partition(":")[2])
    record = _native.device_record(index, memory.dead + memory.frozen + memory.never_freed)
    uuid = record.uuid if record is not None and with_processes else None
    processes = None if uuid is None else other_processes(uuid)
    return MemoryAccount(memory, DeviceUse(record, memory.torch, processes), growing)


def _growing(memory: measurement.Memory) -> list[GrowingOwner]:
    """The growing groups that the latest active watch has found, and that still exist."""
    watch = active_watch()
    growing = [] if watch is None else watch.report().growing
    growing = [each for each in growing if each.device == memory.device]
    if not growing:
        return []
    held_by = {_last_of(str(path)) for each in memory.owners for path in each.held_by}
    return [each for each in growing if not each.held_by or _last_of(each.held_by) in held_by]


def _last_of(path: str) -> str:
    # The first variable may be another one: that of a caller, or of a function that was called.
    return without_items(path.rpartition(" -> ")[2])


def _device_name(device: object) -> str:
    if device is not None and type(device) is not str and type(device).__module__ != "torch":
        raise TypeError(f'device must be a name such as "cuda:0", or None, not {device!r}')
    name = "" if device is None else str(device)
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if not name:
        name = "cuda" if cuda is not None and cuda.is_initialized() else "cpu"
    if name == "cuda":
        has_current = cuda is not None and cuda.is_initialized()
        return f"cuda:{cuda.current_device() if has_current else 0}"
    check_device_name(name)
    return name


def check_device_name(name: str) -> None:
    """Raise ValueError unless `name` is "cpu", or a CUDA device with its index."""
    kind, _, index = name.partition(":")
    if name != "cpu" and not (kind == "cuda" and index.isdecimal()):
        raise ValueError(f'expected "cpu" or a CUDA device such as "cuda:0", not {name!r}')


def _verdict(account: MemoryAccount, entries: list[Entry], growing: Sequence[GrowingOwner]) -> str:
    of_total = "" if account.total is None else f" of {format_bytes(account.total)}"
    start = f"{format_bytes(account.in_use)}{of_total} in use on {account.device}"
    largest = [each for each in entries if each[2] > 0]
    if not largest:
        return start
    avoidable = [each for each in largest if each[0] in (DEAD, FROZEN, NEVER_FREED, FRAGMENTED)]
    chosen = max(avoidable, key=lambda each: each[2], default=None)
    growth = max(growing, key=lambda each: each.nbytes, default=None)
    least = max(NOTABLE * account.in_use, 0 if chosen is None else chosen[2])
    if growth is not None and growth.nbytes >= least:
        return f"{start}, of which {_growth_words(growth)}"
    if chosen is None or chosen[2] < NOTABLE * account.in_use:
        chosen = max(_unusual(largest, account), key=lambda each: each[2])
    key, _, size = chosen
    what = f"{format_bytes(size)} {_words(chosen)}"
    if size > account.in_use:  # on the CPU
        what = f"{start}; not all memory of {what} is resident"
    else:
        what = f"{start}, of which {what}"
    words = f"{what}{_after_colon(key, account)}"
    # What a program holds deserves a sentence even if something else is larger or avoidable.
    reachable = [each for each in largest if each[0] in REACHABLE]
    if chosen in reachable:  # what is not a part of a model, and may be a leak of about its size
        reachable = [
            each
            for each in reachable
            if each != chosen and each[0] in ("other", *OF_GRAPH) and each[2] >= chosen[2] / 2
        ]
    second = max(reachable, key=lambda each: each[2], default=None)
    if second is None or second[2] < NOTABLE * account.in_use:
        return words
    step = ""
    # One sentence about the graphs is enough.
    if not (account._graph_holders and {key, second[0]} <= {*_OF_UNREAD_GRAPH}):
        step = _after_colon(second[0], account)
    return f"{words}; {format_bytes(second[2])} are {_words(second)}{step}"


def _unusual(entries: list[Entry], account: MemoryAccount) -> list[Entry]:
    """The entries without a remainder that is normal, if another one is notable."""
    rest = sum(each[2] for each in entries if each[0] == REST)
    others = [
        each
        for each in entries
        if each[0] != REST and not (each[0] == FREE_HEAP and each[2] < rest)
    ]
    is_notable = any(each[2] >= NOTABLE * account.in_use for each in others)
    return others if is_notable and _is_usual(REST, account) else entries


def _is_usual(key: str, account: MemoryAccount) -> bool:
    rest = sum(each[2] for each in account._entries if each[0] == REST)
    return key == REST and rest <= account._usual_rest


def _words(entry: Entry) -> str:
    key, label, _ = entry
    return _IN_SENTENCES.get(key, label.removeprefix("reachable: "))


def _after_colon(key: str, account: MemoryAccount) -> str:
    step = _next_step(key, account)
    return f": {step}" if step else ""


def _growth_words(growth: GrowingOwner) -> str:
    held = f", held by {growth.held_by}" if growth.held_by else ""
    return (
        f"{format_bytes(growth.nbytes)} in a group that grows by {format_bytes(int(growth.rate))} "
        f"per {growth.unit}{held}{f': {growth.remedy}' if growth.remedy else ''}"
    )


def _largest_cut(findings: list[Finding]) -> str:
    if len(findings) < 2:
        return findings[0].remedy if findings else ""
    sizes = [measurement.dead_bytes_of(each) for each in findings]
    largest = max(sizes)
    remedy = findings[sizes.index(largest)].remedy
    if largest >= (1 - NOTABLE) * sum(sizes):
        return remedy
    return f"{remedy}, which frees {format_bytes(largest)}; the other cuts are listed below"


def _next_step(key: str, account: MemoryAccount) -> str:
    if key in (DEAD, FROZEN, NEVER_FREED):
        of_key = [each for each in account.findings if key_of(each) == key]
        return _largest_cut(of_key or account.findings)
    if key == FRAGMENTED:
        return FRAGMENTED_STEP
    if key in _OF_UNREAD_GRAPH and account._graph_holders and not _is_usual(key, account):
        return unread_graph_step(account._graph_holders)
    if key in (HELD_BY_CPP, CPP_ONLY) and account._unread_graphs:
        return "autograd graphs that were not examined may keep them: see the note below"
    if key == REST and account._data_blocks:
        return (
            f"Python has allocated {account._data_blocks:,} blocks, most of which are data of the "
            "program; python -X tracemalloc shows which lines allocate them"
        )
    if key not in REACHABLE:
        return _NEXT_STEPS.get(key, "").replace("{usual}", format_bytes(account._usual_rest))
    part = largest_part(each for each in account._groups if each.category == key)
    if not part or not part[0].held_by:
        return step_of_category(key)
    step = step_of_group(part[0])
    if is_holder_named(part[0]):
        return held_words(part) + (f"; {step}" if step else "")
    return step
