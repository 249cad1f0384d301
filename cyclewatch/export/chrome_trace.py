# SPDX-License-Identifier: Apache-2.0
"""Writes a report as a trace in Chrome's format, for Perfetto, and adds it to a torch trace.

Each collection and scan of the report is a slice of the process in which it ran. Counters show the
memory in use on each device, and the bytes of the unreachable tensors that were found.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cyclewatch._native import Collection, Finding, Program, Report

    Event = dict[str, Any]

_THREAD = 2_000_000_000  # above all thread ids of Linux
_MOST_FINDINGS = 16  # of one slice
_MOST_PROCESS_IDS = 1 << 22  # of Linux
_DEAD = "tensors found dead"


def trace_json(report: Report) -> str:
    """The report as a trace. Times are microseconds since the first process started."""
    base = min(map(_start, report.processes))
    document = {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "traceEvents": list(_events(report, set(range(len(report.processes))), base)),
    }
    return json.dumps(document) + "\n"


def merged(trace: dict[str, Any], report: Report) -> int:
    """Add the events of `report` to a trace that torch.profiler exported.

    Only the processes of the trace are added. Both use the clock of the machine.

    Returns:
        The number of processes that were added.

    Raises:
        ValueError: `trace` is not a trace in Chrome's format.
    """
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        raise ValueError("it has no list traceEvents")
    traced = {event.get("pid") for event in events if isinstance(event, dict)}
    processes = {index for index, process in enumerate(report.processes) if process.pid in traced}
    information = trace.get("distributedInfo")
    rank = information.get("rank") if isinstance(information, dict) else None
    # Processes of several machines may have the same id; a trace of torch is of one rank.
    of_rank = {index for index in processes if report.processes[index].rank == rank}
    processes = of_rank or processes
    base = trace.get("baseTimeNanoseconds", 0)  # torch before 2.3: times since 1970
    if not isinstance(base, int):
        raise ValueError("baseTimeNanoseconds is not an integer")
    events.extend(_events(report, processes, base, is_named=True))
    return len(processes)


def _start(process: Program) -> int:
    """Nanoseconds since 1970."""
    moment = datetime.fromisoformat(process.started_at).astimezone(UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


def _events(
    report: Report, processes: set[int], base: int, is_named: bool = False
) -> Iterator[Event]:
    """The events of `processes`; `is_named`: the trace contains the names of the processes."""
    pids = _distinct_ids(report, processes)
    for index, pid in pids.items():
        process = report.processes[index]
        rank = f"rank {process.rank}, " if process.rank is not None else ""
        if not is_named or pid != process.pid:
            name = f"{process.script or 'python'} ({rank}process {process.pid})"
            yield _named("process_name", pid, name)
        yield _named("thread_name", pid, "garbage collection (cyclewatch)")
    findings = {
        signature: finding for finding in report.findings for signature in finding.signatures
    }
    dead = {index: _DeadBytes() for index in pids}
    for collection in sorted(report.collections, key=lambda each: each.started_at):
        index = collection.process
        if index in pids:
            process = report.processes[index]
            start = (_start(process) - base) / 1000 + collection.started_at * 1e6
            yield from _of_collection(collection, pids[index], start, findings, dead[index])


def _distinct_ids(report: Report, processes: set[int]) -> dict[int, int]:
    """For each of `processes`, its id, or another one if an earlier process has the same id."""
    ids: dict[int, int] = {}
    for index in sorted(processes):
        pid = report.processes[index].pid
        while pid in ids.values():
            pid += _MOST_PROCESS_IDS
        ids[index] = pid
    return ids


class _DeadBytes:
    """The bytes of one process that scans have found dead, and that are not freed."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, scan: Collection) -> None:
        self.total += scan.released_bytes

    def free(self, collection: Collection) -> None:
        own = sum(part.retained_bytes for part in collection.findings)
        self.total = max(self.total - max(collection.released_bytes - own, 0), 0)


def _named(kind: str, pid: int, name: str) -> Event:
    return {
        "ph": "M",
        "name": kind,
        "pid": pid,
        "tid": _THREAD,
        "args": {"name": _native.clean_text(name)},
    }


def _of_collection(
    collection: Collection,
    pid: int,
    start: float,
    findings: dict[str, Finding],
    dead: _DeadBytes,
) -> Iterator[Event]:
    end = start + collection.duration * 1e6
    yield {
        "ph": "X",
        "cat": "cyclewatch",
        "name": _title(collection),
        "pid": pid,
        "tid": _THREAD,
        "ts": round(start, 3),
        "dur": round(collection.duration * 1e6, 3),
        "args": _details(collection, findings),
    }
    if collection.scan:
        dead.add(collection)
        yield _counter(pid, _DEAD, end, {"bytes": dead.total})
    else:
        dead.free(collection)
        yield _counter(pid, _DEAD, start, {"bytes": dead.total + collection.released_bytes})
        yield _counter(pid, _DEAD, end, {"bytes": dead.total})
    for memory in collection.device_memory:
        name = f"memory of {memory.device}"
        yield _counter(pid, name, start, {"allocated": memory.used_before})
        yield _counter(pid, name, end, {"allocated": memory.used_after})


def _counter(pid: int, name: str, moment: float, values: dict[str, int]) -> Event:
    return {"ph": "C", "name": name, "pid": pid, "ts": round(moment, 3), "args": values}


def _title(collection: Collection) -> str:
    """'collection of generation 2: 9.4 GiB in 3 findings' or '... 9.4 GiB freed'."""
    what = "scan" if collection.scan else f"collection of generation {collection.generation}"
    number = len(collection.findings)
    size = _native.format_bytes(collection.released_bytes)
    if number == 0 and not collection.scan:
        return f"{what}: {size} freed"  # which scans had found
    return f"{what}: {size} in {number} finding{'s' * (number != 1)}"


def _details(collection: Collection, findings: dict[str, Finding]) -> dict[str, object]:
    details: dict[str, object] = {
        "unreachable objects": collection.unreachable,
        "tensor owners": collection.owners,
        "bytes": collection.released_bytes,
        "seconds in the watch": collection.own_seconds,
        "unreachable for at most (s)": collection.dead_for_at_most,
    }
    if collection.step is not None:
        details["step"] = collection.step
    for number, part in enumerate(collection.findings[:_MOST_FINDINGS], 1):
        finding = findings.get(part.signature)
        text = f"{part.signature}: {_native.format_bytes(part.retained_bytes)}"
        if finding is not None:
            text += f", {finding.title}; {finding.remedy}"
        details[f"finding {number}"] = _native.clean_text(text)
    return details
