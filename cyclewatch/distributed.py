# SPDX-License-Identifier: Apache-2.0
"""Merges the reports of all ranks of a torch.distributed job while the job runs.

The reports travel through the store of the job, without collective operations: a rank that is
stuck or dead delays nothing, and the merged report names it. Reports that were written to files can
be merged later with ``cyclewatch merge``.
"""

from __future__ import annotations

import os

from cyclewatch import _native
from cyclewatch.watching.watches import active_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]
    from torch.distributed.debug._frontend import DebugHandler

    from cyclewatch._native import Report

__all__ = ["debug_handler", "gather", "publish"]


def publish(report: Report | None = None, *, store: Store | None = None) -> None:
    """Make the report of this rank available to :func:`gather` on rank 0.

    The report is compressed and written to the store in parts of at most 1 MiB. It replaces the
    report that this process has published before. Does not wait for other ranks.

    Args:
        report: The report to publish; by default that of the watch that was started last and is
            still active.
        store: A ``torch.distributed.Store`` that all ranks share. By default, a new connection to
            the store of the job is opened, at MASTER_ADDR and MASTER_PORT.

    Raises:
        RuntimeError: No watch is active, or the rank of this process is unknown or too large.
        ConnectionError: The store cannot be reached or has failed.

    Examples:
        >>> import os, torch.distributed
        >>> store = torch.distributed.HashStore()  # in a real job, not passed
        >>> os.environ.update(RANK="1", WORLD_SIZE="4")
        >>> cyclewatch.distributed.publish(report, store=store)
    """
    from cyclewatch.ranks import report_exchange  # imports socket

    rank, _ = _place()
    report_exchange.publish(report or _current_report(), rank, _connected(store))


def gather(
    timeout: float = 30, *, report: Report | None = None, store: Store | None = None
) -> Report | None:
    """Merge the latest reports of all ranks on rank 0; publish the report on the other ranks.

    Call it on all ranks, or on rank 0 only if the other ranks call :func:`publish`. It is not a
    collective operation: the other ranks continue at once.

    Args:
        timeout: Seconds for which rank 0 waits for ranks that have not published a report yet; 0
            means not to wait.
        report: The report of this rank, as in :func:`publish`.
        store: As in :func:`publish`.

    Returns:
        On rank 0, the merged report. `Report.missing_ranks` lists the ranks that published no
        report, or a report that this version of cyclewatch cannot read. None on the other ranks.

    Raises:
        ValueError: `timeout` is negative or not a number.
        RuntimeError: No watch is active, or the rank of this process is unknown.
        ConnectionError: The store cannot be reached.

    Examples:
        >>> import os, torch.distributed
        >>> store = torch.distributed.HashStore()  # in a real job, not passed
        >>> os.environ.update(RANK="0", WORLD_SIZE="4")
        >>> merged = cyclewatch.distributed.gather(timeout=0, report=report, store=store)
        >>> merged.missing_ranks
        [1, 2, 3]
        >>> print(merged.to_text())
        No report from 3 of 4 ranks (1 to 3). 1 reference cycle kept 4.0 KiB of cpu memory ...
    """
    if not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise ValueError(f"timeout must be a number of seconds, not {timeout!r}")
    from cyclewatch.ranks import report_exchange  # imports socket

    rank, world_size = _place()
    own = report or _current_report()
    store = _connected(store)
    if rank != 0:
        report_exchange.publish(own, rank, store)
        return None
    return report_exchange.gather(own, world_size, store, timeout)


def debug_handler() -> DebugHandler:
    """Return a handler that shows the current reports on torch's debug server.

    Call it on every rank before ``torch.distributed.debug.start_debug_server()``, and pass the
    result to it. The server then has a page ``/cyclewatch`` with the report of the watch that is
    active on each rank, and writes it to a file if ``enabled_dumps`` contains ``"cyclewatch"``::

        from torch.distributed.debug._debug_handlers import default_handlers

        handlers = [*default_handlers(), cyclewatch.distributed.debug_handler()]
        torch.distributed.debug.start_debug_server(handlers=handlers)

    torch's debug server needs the packages jinja2 and tabulate.

    A rank answers while its main thread waits in a collective operation. The debug server is not
    protected, so a rank whose watch records values (``capture_values=True``) refuses to answer.
    The server thread of the process is stopped when the interpreter exits.

    Raises:
        ImportError: This version of torch has no debug server, or jinja2 is not installed.

    Examples:
        >>> cyclewatch.distributed.debug_handler().dump_filename()
        'cyclewatch'
    """
    from cyclewatch.ranks import debug_server  # imports torch's debug server

    debug_server.register()
    return debug_server.CycleWatchHandler()


def _place() -> tuple[int, int]:
    """The rank of this process, and the number of ranks."""
    rank, world_size, _ = _native.job_rank()
    if rank >= 0 and world_size > 0:
        return rank, world_size
    number = os.environ.get("WORLD_SIZE", "")
    if rank >= 0 and number.isdecimal():
        raise RuntimeError(f"RANK is {rank}, but WORLD_SIZE is {number}")
    raise RuntimeError(
        "the rank of this process is unknown: start the program with torchrun, set RANK and "
        "WORLD_SIZE, or call torch.distributed.init_process_group() first"
    )


def _current_report() -> Report:
    watch = active_watch()
    if watch is None:
        raise RuntimeError("no watch is active; start one, or pass a report")
    return watch.report()


def _connected(store: Store | None) -> Store:
    from cyclewatch.ranks import job_store  # imports socket

    return job_store.connect() if store is None else store
