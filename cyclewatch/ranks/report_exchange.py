# SPDX-License-Identifier: Apache-2.0
"""Sends the reports of the ranks to rank 0 through the job's store, and merges them there."""

from __future__ import annotations

import time

from cyclewatch import _native
from cyclewatch.errors import ReportFormatError
from cyclewatch.ranks import job_store
from cyclewatch.ranks.job_store import Published, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

    from cyclewatch._native import Report

    # By rank: the reports of its processes.
    Received = dict[int, list[Published | Unreadable]]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5  # seconds between two looks into the store


def publish(report: Report, rank: int, store: Store, *, is_last: bool = False) -> None:
    """Write the report of this rank to the store; the process publishes no other if `is_last`.

    Raises:
        ConnectionError: The store failed.
    """
    document = report.to_json().encode()
    try:
        job_store.publish(store, rank, Published(_native.__version__, document, is_last))
    except RuntimeError as error:
        raise _failure(error) from None


def gather(
    own: Report, world_size: int, store: Store, timeout: float, *, waits_for_last: bool = False
) -> Report:
    """Merge the reports of all ranks with `own`, that of rank 0.

    Args:
        own: The report of rank 0.
        world_size: The number of ranks.
        store: The store to which the other ranks publish.
        timeout: How many seconds to wait for ranks that have published nothing.
        waits_for_last: Wait for the last report of each rank, too.
    """
    received: Received = {}
    notes = []
    try:
        _receive(store, set(range(1, world_size)), timeout, received, waits_for_last)
    except RuntimeError as error:
        notes.append(f"The ranks are missing because {_failure(error)}.")
    if waits_for_last:
        notes += _notes_on_running(received)
    return _merged(own, received, world_size, notes)


def _failure(error: RuntimeError) -> ConnectionError:
    reason = str(error).partition("\n")[0]
    return ConnectionError(f"the job's store failed ({reason}); merge the report files instead")


def _receive(
    store: Store, ranks: set[int], timeout: float, received: Received, waits_for_last: bool
) -> None:
    """Add the reports of `ranks` to `received`, until all are there or the time is over."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        for rank in sorted(ranks):
            published = job_store.read(store, rank)
            if published:
                received[rank] = published
            if published and not (waits_for_last and _is_running(published)):
                ranks.discard(rank)
        left = deadline - time.monotonic()
        if not ranks or left <= 0:
            return
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _is_running(published: list[Published | Unreadable]) -> bool:
    return any(isinstance(each, Published) and not each.is_last for each in published)


def _notes_on_running(received: Received) -> list[str]:
    return [
        f"Rank {rank} has not sent its last report: it may find more after the one merged here."
        for rank, published in received.items()
        if _is_running(published)
    ]


def _merged(own: Report, received: Received, world_size: int, notes: list[str]) -> Report:
    reports, missing = [own], set(range(1, world_size))
    for rank, published in received.items():
        for each in published:
            if isinstance(each, Unreadable):
                notes.append(f"The report of rank {rank} cannot be read: {each.reason}.")
                continue
            try:
                reports.append(_native.load_report(each.document, f"rank {rank}"))
                missing.discard(rank)
            except ReportFormatError as error:
                notes.append(f"The report of cyclewatch {each.version} cannot be read: {error}.")
    return _native.gathered_report(reports, missing, notes)
