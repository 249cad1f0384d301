# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch snapshot``: reads snapshots of torch's allocator, without running their code."""

from __future__ import annotations

import json
import os
import sys

from cyclewatch import ReportFormatError, _native
from cyclewatch.cli import outputs, terminal
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.heap.collecting import Pause
from cyclewatch.snapshots import data, joined, page, pickle_data, text
from cyclewatch.snapshots.allocator_state import Snapshot
from cyclewatch.snapshots.owners import KEY, Owners
from cyclewatch.snapshots.report_owners import ReportOwners

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

    from cyclewatch import Report


def main(arguments: argparse.Namespace) -> int:
    """Describe one snapshot, the growth between two, or the differences between ranks."""
    output = arguments.output
    if output is not None:
        outputs.refuse_to_replace(output, arguments.force)
    owners = None if arguments.owners is None else _owners(arguments.owners)
    if arguments.ranks and len(arguments.files) < 2:
        raise Failure("--ranks compares snapshots of several ranks; name at least two files")
    snapshots = [_read(path, owners) for path in arguments.files]
    compares_ranks = arguments.ranks or len(snapshots) > 2
    try:
        counts = None if owners is None else _joined(snapshots, arguments.owners)
        if output is None and not arguments.json:
            first = "" if counts is None else joined.sentence(counts) + "\n\n"
            terminal.show(first + text.describe_all(snapshots, arguments.top, compares_ranks))
            return Status.OK
        described = data.describe(snapshots, arguments.top, compares_ranks)
        if counts is not None:
            described["owners_from"] = counts
    except pickle_data.SnapshotFormatError as error:  # events are read last
        raise Failure(f"cannot read the snapshot: {error}") from None
    if arguments.json:
        terminal.raw(json.dumps(described, indent=1) + "\n")
    if output is not None:
        outputs.write(output, page.page(described), arguments.force)
        if output != "-" and not arguments.json:
            terminal.show(output)
    return Status.OK


def _joined(snapshots: Sequence[Snapshot], path: str) -> dict[str, Any]:
    """How many blocks have an owner in the file `path`."""
    counts = joined.count(snapshots, path)
    if not counts["owned_blocks"] and not counts["freed_blocks"]:
        raise Failure(
            f"no owner in {path} has the address and the size of a block of {snapshots[-1].name}: "
            "they are of different processes, or the memory was freed between the two"
        )
    return counts


def _owners(path: str) -> Owners | ReportOwners:
    """The owners in a report, or in a file that dump_snapshot() wrote."""

    def convert(contents: bytes) -> Owners | ReportOwners:
        if _is_report(contents):
            return _owners_in(_native.load_report(contents, path), path)
        data = pickle_data.load(contents)
        if not isinstance(data, dict) or KEY not in data:
            raise Failure(
                f"{path} has no owners; cyclewatch.dump_snapshot() and out-of-memory reports write "
                "snapshots with owners"
            )
        return Owners(data[KEY])

    try:
        owners: Owners | ReportOwners = _load(path, convert)
    except ReportFormatError as error:
        raise Failure(str(error)) from None
    return owners


def _owners_in(report: Report, path: str) -> ReportOwners:
    owners = ReportOwners(json.loads(report.to_json()))
    if owners:
        return owners
    number = len(report.processes)
    raise Failure(
        f"{path} contains no addresses: "
        + (
            f"it covers {number} processes; use the report of the process that wrote the snapshot"
            if number > 1
            else "it found no storages on a CUDA device, an earlier version wrote it, or "
            "`cyclewatch strip` removed them"
        )
    )


def _read(path: str, owners: Owners | ReportOwners | None) -> Snapshot:
    def convert(contents: bytes) -> Snapshot:
        if _is_report(contents):
            raise Failure(
                f"{path} is not a snapshot. If it is a report of cyclewatch, pass it with "
                "--owners: it contains the owners of blocks in a snapshot of torch"
            )
        return Snapshot(pickle_data.load(contents), path, owners)

    snapshot: Snapshot = _load(path, convert)
    return snapshot


def _is_report(contents: bytes) -> bool:
    """Whether this is JSON or HTML, with which no pickle begins."""
    return contents.lstrip()[:1] in (b"{", b"<")


def _load(path: str, convert: Callable[[bytes], Any]) -> Any:
    try:
        with Pause():  # a snapshot is often a million objects without a cycle
            return convert(_contents(path))
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from None
    except pickle_data.SnapshotFormatError as error:
        raise Failure(f"cannot read {path}: {error}") from None
    except MemoryError:
        raise Failure(f"cannot read {path}: not enough memory") from None


def _contents(path: str) -> bytes:
    # One byte more than the limit, so that larger files are recognized.
    limit = pickle_data.MAX_BYTES + 1
    if path == "-":
        if sys.stdin is None:
            raise Failure("cannot read standard input: it is closed")
        return sys.stdin.buffer.read(limit)
    if os.path.isdir(path):
        raise Failure(f"{path} is a folder; name the snapshots in it")
    with open(path, "rb") as file:
        return file.read(limit)
