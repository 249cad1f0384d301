# SPDX-License-Identifier: Apache-2.0
"""Merges the reports of all ranks when a program that torchrun started exits."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys

from cyclewatch import _native
from cyclewatch.watching.finding_warnings import log, reported_findings
from cyclewatch.wording import counted, prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import Report
    from cyclewatch.watching.watches import Watch

_DEFAULT_SECONDS = 10.0
_FIRST_SECONDS = 2.0
_MOST_RANKS = 64  # more ranks merge their reports only if they are asked to
_INFO, _WARNING = 20, 30  # levels of logging

_finished = 0  # the id of the process that has done this


def gather_at_exit(
    watch: Watch,
    seconds: float | None,
    is_every_rank_watched: bool = False,
    is_quiet: bool = False,
    earlier: Sequence[tuple[int, str]] = (),
) -> list[str]:
    """Publish the last report of this rank; on rank 0, write that of all ranks.

    Does nothing if this process is not a rank of several, if it has not imported torch.distributed,
    or if this function was called before. Raises nothing: the report files of the ranks remain.

    Args:
        watch: A stopped watch that writes report files.
        seconds: How long rank 0 waits; 0: do nothing. None: 10 seconds for up to 64 ranks, or 0;
            and only 2 seconds, without a merged report, if no other rank has published anything:
            many programs start a watch on rank 0 only.
        is_every_rank_watched: Wait, and write the merged report, also if no other rank has
            published anything. Warn if the reports cannot be merged, unless `is_quiet`. The caller
            prints the path; otherwise, it is logged.
        is_quiet: See above.
        earlier: For each earlier watch of this process that found cycles: their number, and the
            report file. The merged report names them.

    Returns:
        The paths of the merged report; empty on the other ranks.
    """
    global _finished
    if _finished == os.getpid():
        return []
    _finished = os.getpid()
    try:
        wanted = _seconds() if seconds is None else seconds
        if not wanted or not _is_rank() or not watch.report_paths:
            return []
        if hasattr(sys, "last_value"):
            wanted = 0  # a rank that fails must not delay the end of the job
        may_be_alone = seconds is None and not is_every_rank_watched
        own = watch.report()
        if earlier:
            own = _native.gathered_report([own], set(), [_note_on(earlier)])
        report = _gather(own, wanted, may_be_alone)
        paths = [] if report is None else [_save(report, path) for path in watch.report_paths]
        if report is not None and not is_every_rank_watched:
            _log_paths(report, paths)
        return paths
    except (Exception, KeyboardInterrupt) as error:
        is_expected = is_every_rank_watched and _native.job_rank()[0] == 0
        level = _WARNING if is_expected and not is_quiet else _INFO
        log(level, f"{prefix()}the reports of the ranks were not merged: {error}")
        return []


def _note_on(earlier: Sequence[tuple[int, str]]) -> str:
    found = sum(count for count, _ in earlier)
    watches = "an earlier watch" if len(earlier) == 1 else f"{len(earlier)} earlier watches"
    return (
        f"On rank {_native.job_rank()[0]}, {watches} of the same process found "
        f"{counted(found, 'reference cycle')}, which this report does not contain: {earlier[0][1]}"
        + (", ..." if len(earlier) > 1 else "")
    )


def _gather(own: Report, seconds: float, may_be_alone: bool) -> Report | None:
    from cyclewatch.ranks import job_store, report_exchange  # imports socket

    rank, world_size, _ = _native.job_rank()
    store = job_store.connect()
    if rank != 0:
        report_exchange.publish(own, rank, store, is_last=True)
        return None
    first = min(seconds, _FIRST_SECONDS) if may_be_alone else seconds
    report = report_exchange.gather(own, world_size, store, first, waits_for_last=True)
    if first == seconds or not (report.missing_ranks or report.notes):
        return report
    if len(report.processes) > 1:
        return report_exchange.gather(own, world_size, store, seconds - first, waits_for_last=True)
    log(
        _INFO,
        f"no other rank has sent a report after {first:g} seconds, so the reports are not merged; "
        "CYCLEWATCH_GATHER sets how long rank 0 waits",
    )
    return None


def _log_paths(report: Report, paths: list[str]) -> None:
    has_findings = bool(reported_findings(report))
    for path in paths:
        log(
            _WARNING if has_findings else _INFO,
            f"cyclewatch: report of all ranks: {_native.clean_text(path)}",
        )


def _seconds() -> float:
    return _DEFAULT_SECONDS if _native.job_rank()[1] <= _MOST_RANKS else 0


def _is_rank() -> bool:
    _, world_size, has_joined = _native.job_rank()
    return world_size > 1 and has_joined and "torch.distributed" in sys.modules


def _save(report: Report, path: str) -> str:
    """Save the merged report beside the report of rank 0, without replacing a file.

    Only the owner can read it, as the reports of the ranks.
    """
    stem, suffix = os.path.splitext(path)
    folder, name = os.path.split(stem)
    rank = f"-rank{_native.job_rank()[0]}"
    name = name.replace(rank, "-all-ranks") if rank in name else f"{name}-all-ranks"
    for number in itertools.count(1):
        target = os.path.join(folder, f"{name}-{number}{suffix}" if number > 1 else name + suffix)
        with contextlib.suppress(FileExistsError):
            _native.save_privately(report, target)
            break
    return target
