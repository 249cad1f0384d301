# SPDX-License-Identifier: Apache-2.0
"""The tables of a dataset of reports: their columns, and the rows of a report.

The names, types and meanings of the columns do not change between versions; a version may add
columns. docs/formats/dataset.md is made from this table.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyclewatch._native import MemoryBreakdown, Program, Report

    Row = dict[str, object]


class Column(NamedTuple):
    """A column; `type` is a function of pyarrow without arguments."""

    name: str
    type: str
    text: str


class Table(NamedTuple):
    """A table; `rows` yields a dict with a value for each column, except for those of the job."""

    text: str
    columns: tuple[Column, ...]
    rows: Callable[[Report], Iterator[Row]]


JOB: tuple[Column, ...] = (
    Column("job", "string", "The name of the job, as given by `--job`"),
    Column(
        "started_at", "timestamp", "When the first process of the job started its watch, in UTC"
    ),
    Column("script", "string", "Name of the script"),
)
_PROCESS = (
    Column("rank", "int32", "The rank; null if the process is not a rank of a job"),
    Column("pid", "int64", "The process id"),
    Column("host", "string", "A hash of the name of the machine; null if unknown"),
)
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/([^/.:]+)")
_MEMORY = (
    "live",
    "dead",
    "torch_cache",
    "pool_used",
    "pool_cache",
    "graphs",
    "other",
    "free",
)


def first_start(report: Report) -> datetime:
    """When the first process of the report started, in UTC and without a time zone."""
    starts = [process.started_at for process in report.processes]
    return min(datetime.fromisoformat(each).replace(tzinfo=None) for each in starts)


def library_of(location: str | None) -> str | None:
    """The installed package that contains the line: '.../site-packages/torch/nn.py:3' -> 'torch'.

    None for other code.
    """
    match = _INSTALLED.match(location or "")
    return match[1] if match else None


def _job_rows(report: Report) -> Iterator[Row]:
    stats = report.stats
    first = report.processes[0]
    yield {
        "python_version": first.python_version,
        "cyclewatch_version": first.cyclewatch_version,
        "processes": len(report.processes),
        "missing_ranks": len(report.missing_ranks),
        "collections": stats.collections,
        "scans": stats.scans,
        "collection_seconds": sum(each.seconds for each in report.generations),
        "watch_seconds": stats.seconds,
        "elapsed": stats.elapsed,
        "findings": len(report.findings),
        "retained_bytes": report.retained_bytes,
    }


def _finding_rows(report: Report) -> Iterator[Row]:
    for finding in report.findings:
        cut = finding.cut
        location = cut.location if cut is not None else None
        steps = [each.first_step for each in finding.by_process if each.first_step is not None]
        yield {
            "signature": finding.signature,
            "pattern": finding.pattern,
            "status": finding.status,
            "collected": finding.collected,
            "title": finding.title,
            "cut": f"{cut.holder}{_joint(cut.label)}{cut.label}" if cut is not None else None,
            "location": location,
            "library": library_of(location),
            "device": finding.owners[0].device if finding.owners else None,
            "retained_bytes": finding.retained_bytes,
            "shared_bytes": finding.shared_bytes,
            "byte_seconds": finding.byte_seconds,
            "occurrences": finding.occurrences,
            "processes": len(finding.by_process),
            "dead_for_at_most": finding.dead_for_at_most,
            "first_seen": finding.first_seen,
            "first_step": min(steps, default=None),
        }


def _joint(label: str) -> str:
    return "" if label[:1] in (".", "[") else "."


def _of(process: Program) -> Row:
    return {"rank": process.rank, "pid": process.pid, "host": process.host}


def _occurrence_rows(report: Report) -> Iterator[Row]:
    for finding in report.findings:
        for each in finding.by_process:
            yield {
                **_of(report.processes[each.process]),
                "signature": finding.signature,
                "occurrences": each.occurrences,
                "retained_bytes": each.retained_bytes,
                "first_seen": each.first_seen,
                "first_step": each.first_step,
            }


def _collection_rows(report: Report) -> Iterator[Row]:
    for each in report.collections:
        yield {
            **_of(report.processes[each.process]),
            "number": each.number,
            "generation": each.generation,
            "scan": each.scan,
            "at": each.started_at,
            "duration": each.duration,
            "own_seconds": each.own_seconds,
            "step": each.step,
            "unreachable": each.unreachable,
            "owners": each.owners,
            "released_bytes": each.released_bytes,
        }


def _live_rows(report: Report) -> Iterator[Row]:
    if not report.live_owners:
        return
    # In Python, a group does not refer to its process.
    for live in json.loads(report.to_json())["live_owners"]:
        owner = live["owner"]
        yield {
            **_of(report.processes[live["process"]]),
            "category": live["category"],
            **{name: owner[name] or None for name in ("type", "shape", "dtype", "device")},
            "count": owner["count"],
            "bytes": live["bytes"],
            "held_by": live["held_by"][0]["text"] if live["held_by"] else None,
        }


def _memory_rows(report: Report) -> Iterator[Row]:
    for record in report.device_records:
        for moment, memory in (("largest collection", record.memory), ("end", record.memory_now)):
            if memory is not None:
                yield {
                    **_of(report.processes[record.process]),
                    "device": record.device,
                    "name": record.name,
                    "uuid": record.uuid,
                    "moment": moment,
                    "total": record.total,
                    **_parts(memory),
                }


def _parts(memory: MemoryBreakdown) -> Row:
    return {name: getattr(memory, name) for name in _MEMORY}


TABLES = {
    "jobs": Table(
        "One row for each job.",
        (
            Column("python_version", "string", "Version of CPython of the first process"),
            Column("cyclewatch_version", "string", "Version of cyclewatch of the first process"),
            Column("processes", "int32", "Number of processes in the report"),
            Column("missing_ranks", "int32", "Number of ranks of which the report has no data"),
            Column("collections", "int64", "Number of collections in all processes"),
            Column("scans", "int64", "Number of scans in all processes"),
            Column(
                "collection_seconds",
                "float64",
                "Duration of all collections, without the time spent in the watch",
            ),
            Column("watch_seconds", "float64", "Time spent in the watch"),
            Column("elapsed", "float64", "Sum of the durations of all processes' watches"),
            Column("findings", "int32", "Number of distinct findings"),
            Column("retained_bytes", "int64", "Device bytes that all cycles kept alive"),
        ),
        _job_rows,
    ),
    "findings": Table(
        "One row for each finding of a job.",
        (
            Column("signature", "string", "The same on every run, rank and machine"),
            Column("pattern", "string", "Id of the matching pattern, or 'unknown'"),
            Column("status", "string", "'new', 'known', 'library', 'benign' or 'ignored'"),
            Column("collected", "string", "'yes', 'not yet', 'never' or 'uncollectable'"),
            Column("title", "string", "The cycle in short"),
            Column("cut", "string", "The first reference to cut; null if there is no suggestion"),
            Column("location", "string", "'path:line' of the code to change; null if unknown"),
            Column(
                "library",
                "string",
                "The installed package that contains `location`; null for other code",
            ),
            Column("device", "string", "Device of the largest tensor"),
            Column("retained_bytes", "int64", "Device bytes that only this cycle kept alive"),
            Column("shared_bytes", "int64", "Device bytes that other objects also kept alive"),
            Column("byte_seconds", "float64", "Bytes times seconds unreachable, upper bound"),
            Column("occurrences", "int64", "Number of cycles"),
            Column("processes", "int32", "Number of processes with the finding"),
            Column("dead_for_at_most", "float64", "Longest time unreachable, in seconds"),
            Column("first_seen", "float64", "Seconds from the start to the first occurrence"),
            Column("first_step", "int64", "First training step with the finding; null if unknown"),
        ),
        _finding_rows,
    ),
    "occurrences": Table(
        "One row for each process in which a finding occurred.",
        (
            *_PROCESS,
            Column("signature", "string", "The finding"),
            Column("occurrences", "int64", "Number of cycles"),
            Column("retained_bytes", "int64", "Device bytes that only these cycles kept alive"),
            Column("first_seen", "float64", "Seconds from the start to the first occurrence"),
            Column("first_step", "int64", "Training step of the first occurrence; null if unknown"),
        ),
        _occurrence_rows,
    ),
    "collections": Table(
        "One row for each collection or scan that the report lists: those that found tensors.",
        (
            *_PROCESS,
            Column("number", "int64", "Position among all collections of the process"),
            Column("generation", "int32", "The generation, as in `gc.callbacks`"),
            Column("scan", "bool_", "True for a scan, which frees nothing"),
            Column("at", "float64", "Seconds from the start of the watch"),
            Column("duration", "float64", "Seconds, including the time spent in the watch"),
            Column("own_seconds", "float64", "Seconds spent in the watch"),
            Column("step", "int64", "The training step; null if unknown"),
            Column("unreachable", "int64", "Number of unreachable objects"),
            Column("owners", "int64", "Number of unreachable tensors"),
            Column("released_bytes", "int64", "Device bytes that were freed or found"),
        ),
        _collection_rows,
    ),
    "live_groups": Table(
        "One row for each group of reachable tensors of the last census.",
        (
            *_PROCESS,
            Column("category", "string", "'parameter', 'gradient', 'optimizer' ..."),
            Column("type", "string", "The type, such as 'torch.Tensor'"),
            Column("shape", "string", "The dimensions; null if there are none"),
            Column("dtype", "string", "The data type; null if there is none"),
            Column("device", "string", "The device"),
            Column("count", "int64", "Number of tensors"),
            Column("bytes", "int64", "Size of all storages"),
            Column("held_by", "string", "The path that keeps a tensor alive; null if unknown"),
        ),
        _live_rows,
    ),
    "device_memory": Table(
        "What the memory of a CUDA device was used for, in bytes. The parts add up to `total`.",
        (
            *_PROCESS,
            Column("device", "string", "The device"),
            Column("name", "string", "The device's name"),
            Column("uuid", "string", "The device's UUID; null if unknown"),
            Column("moment", "string", "Before the 'largest collection', or at the 'end'"),
            Column("total", "int64", "Capacity"),
            *(Column(name, "int64", f"As `MemoryBreakdown.{name}`") for name in _MEMORY),
        ),
        _memory_rows,
    ),
}


def page() -> str:
    """The text of docs/formats/dataset.md."""
    parts = [
        "# The tables of a dataset\n\n"
        "`cyclewatch convert --to parquet` writes these tables ([Across all "
        "jobs](../guide/fleet.md)). The names, types and meanings of the columns do not change; "
        "a later version may add columns. All tables begin with the columns of the job, and are "
        "partitioned by `date`, the day of `started_at`.\n"
    ]
    sections: dict[str, tuple[str, tuple[Column, ...]]] = {"The job": ("In every table.", JOB)}
    sections |= {f"`{name}`": (table.text, table.columns) for name, table in TABLES.items()}
    for title, (text, columns) in sections.items():
        rows = "".join(f"| `{each.name}` | {each.type} | {each.text} |\n" for each in columns)
        parts.append(
            f"\n## {title}\n\n{text}\n\n| column | type | meaning |\n|---|---|---|\n{rows}"
        )
    return "".join(parts).replace("bool_", "bool")
