# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch snapshot``: reads snapshots of torch's allocator, without running their code."""

from __future__ import annotations

import gc
import json
import os
import sys

from cyclewatch.cli import outputs, terminal
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.snapshots import data, page, pickle_data, text
from cyclewatch.snapshots.allocator_state import Snapshot
from cyclewatch.snapshots.owners import KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any


def main(arguments: argparse.Namespace) -> int:
    """Describe one snapshot, the growth between two, or the differences between ranks."""
    output = arguments.output
    if output is not None:
        outputs.refuse_to_replace(output, arguments.force)
    owners = None if arguments.owners is None else _owners(arguments.owners)
    snapshots = [_read(path, owners) for path in arguments.files]
    if owners is not None and not any(each.owned_blocks for each in snapshots):
        raise Failure(
            f"no owner in {arguments.owners} has the address of a block of {snapshots[-1].name}: "
            "they are of different processes, or the memory was freed between the two"
        )
    compares_ranks = arguments.ranks or len(snapshots) > 2
    try:
        if output is None and not arguments.json:
            terminal.show(text.describe_all(snapshots, arguments.top, compares_ranks))
            return Status.OK
        described = data.describe(snapshots, arguments.top, compares_ranks)
    except pickle_data.SnapshotFormatError as error:  # events are read last
        raise Failure(f"cannot read the snapshot: {error}") from None
    if arguments.json:
        terminal.raw(json.dumps(described, indent=1) + "\n")
    if output is not None:
        outputs.write(output, page.page(described), arguments.force)
        if output != "-" and not arguments.json:
            terminal.show(output)
    return Status.OK


def _owners(path: str) -> object:
    """The owners in a file that dump_snapshot() wrote."""
    data = _load(path, pickle_data.load)
    if not isinstance(data, dict) or KEY not in data:
        raise Failure(
            f"{path} has no owners; cyclewatch.dump_snapshot() and out-of-memory reports write "
            "snapshots with owners"
        )
    return data[KEY]


def _read(path: str, owners: object) -> Snapshot:
    snapshot: Snapshot = _load(
        path, lambda contents: Snapshot(pickle_data.load(contents), path, owners)
    )
    return snapshot


def _load(path: str, convert: Callable[[bytes], Any]) -> Any:
    collects = gc.isenabled()
    gc.disable()  # a snapshot is often a million objects without a cycle
    try:
        contents = _contents(path)
        if contents.lstrip()[:1] in (b"{", b"<"):
            raise Failure(
                f"{path} is not a snapshot. If it is a report of cyclewatch: reports contain no "
                "addresses; cyclewatch.dump_snapshot() writes a snapshot with the owners of its "
                "blocks"
            )
        return convert(contents)
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from None
    except pickle_data.SnapshotFormatError as error:
        raise Failure(f"cannot read {path}: {error}") from None
    except MemoryError:
        raise Failure(f"cannot read {path}: not enough memory") from None
    finally:
        if collects:
            gc.enable()


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
