# SPDX-License-Identifier: Apache-2.0
"""Starts and stops watches."""

from __future__ import annotations

import atexit
import os
from _operator import index  # `operator` itself takes a millisecond to import

from cyclewatch import _native
from cyclewatch.code.code_roots import update_roots
from cyclewatch.code.source_lines import excerpts
from cyclewatch.proofs.torch_layout import note_search, require_gil, torch_layout
from cyclewatch.settings.arguments import REPEATS, check_boolean, integer_in, names_in
from cyclewatch.settings.configuration import read_configuration
from cyclewatch.settings.kinds import is_share
from cyclewatch.watching.finding_warnings import log, reported_findings, warn
from cyclewatch.watching.step_numbers import notify
from cyclewatch.watching.workers import WorkerEnd, is_worker

# Importing typing would take longer than importing this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from cyclewatch._native import Finding, NativeWatch, Report, Stats
    from cyclewatch.oom.autopsy import oom_autopsy
    from cyclewatch.snapshots.recording import SnapshotRecording
    from cyclewatch.watching.memory_recording import MemoryRecorder, Stack

_LARGEST_STEP = 2**63 - 1
_MOST_EARLIER = 100
_SETTLED_AFTER = 2  # steps, see never_freed()

# The watches that were active when this list was last used, oldest first.
_started: list[Watch] = []

# The watch whose report is merged with those of the other ranks at exit, and for how many seconds
# rank 0 waits.
_gathered: tuple[Watch, float | None] | None = None
# For each earlier one of this process: the number of cycles, and the report file.
_earlier: list[tuple[int, str]] = []


def _gather_at_exit() -> None:
    if _gathered is not None:
        from cyclewatch.ranks.exit_gathering import gather_at_exit

        gather_at_exit(*_gathered, earlier=_earlier)


def _replace_gathered(watch: Watch, seconds: float | None) -> None:
    """Gather the report of `watch` at exit, and only name the findings of the one before it."""
    global _gathered
    if _gathered is not None and not _gathered[0].active:
        earlier, _ = _gathered
        count = len(reported_findings(earlier.report()))
        if count and earlier.report_paths and len(_earlier) < _MOST_EARLIER:
            _earlier.append((count, earlier.report_paths[0]))
    _gathered = (watch, seconds)


def _end_worker() -> None:
    _native.shutdown()
    _gather_at_exit()


# Handlers run in reverse order, so this one reads the complete report.
atexit.register(_gather_at_exit)
# Scans for the last time, delivers queued notifications and completes the report files.
atexit.register(_native.shutdown)
_worker_end = WorkerEnd(_end_worker)
os.register_at_fork(after_in_child=_earlier.clear)
# CPython 3.12 and later warn of a fork in a process that has another thread.
os.register_at_fork(
    before=_native.before_fork,
    after_in_parent=_native.after_fork_in_parent,
    after_in_child=_native.after_fork_in_child,
)


class Watch:
    """A watch for reference cycles that keep tensors alive; active until :meth:`stop`.

    Returned by :func:`watch`, :func:`warn_tensor_cycles` and :func:`observe_tensor_cycles`. In a
    ``with`` statement, the watch stops when the block ends. Otherwise, the watch continues even if
    the last reference to this object is dropped. The report and the statistics stay available
    after :meth:`stop`. All methods are thread-safe.

    Examples:
        >>> with cyclewatch.watch(devices="cpu") as watch:
        ...     train()
        >>> watch
        <cyclewatch.Watch stopped>
        >>> watch.stats.owners
        1
    """

    __slots__ = (
        "_autopsy",
        "_captures_values",
        "_native_watch",
        "_never_freed",
        "_recorder",
        "_snapshot",
    )

    def __init__(
        self,
        native_watch: NativeWatch,
        autopsy: oom_autopsy | None = None,
        recorder: MemoryRecorder | None = None,
        never_freed: bool = False,
        snapshot: SnapshotRecording | None = None,
        captures_values: bool = False,
    ) -> None:
        """Internal; use :func:`watch`."""
        self._captures_values = captures_values
        self._snapshot = snapshot
        self._never_freed = never_freed
        self._native_watch = native_watch
        self._autopsy = autopsy
        self._recorder = recorder

    def stop(self) -> None:
        """Stop the watch, deliver pending notifications and complete the report file.

        Waits at most 10 seconds for the file, with the GIL released. Idempotent.

        Examples:
            >>> watch = cyclewatch.watch(devices="cpu")
            >>> train()
            >>> watch.stop()
            >>> watch.active
            False
        """
        if self._snapshot is not None:
            self._snapshot.stop()
        self._native_watch.stop()
        if self._autopsy is not None:
            self._autopsy.__exit__(None, None, None)
        if self._recorder is not None:
            self._recorder.stop()

    def __call__(self) -> None:
        """Stop the watch, like the function that torch's warn_tensor_cycles() returns."""
        self.stop()

    def report(self) -> Report:
        """Return a snapshot of all findings so far. Delivers pending notifications first.

        Examples:
            >>> with cyclewatch.watch(devices="cpu") as watch:
            ...     train()
            ...     before = watch.report()
            ...     train()
            >>> before.findings[0].occurrences, watch.report().findings[0].occurrences
            (1, 2)
        """
        return self._native_watch.report()

    def step(self, number: int) -> None:
        """Set the current training step, which is recorded with each collection and finding.

        While automatic collection is off or objects are frozen, also scans for unreachable tensors,
        within the watch's budget. This scan examines the objects created since the last
        collection, and the frozen objects. A scan's findings are reported in the step in which they
        are first found, and are marked as not collected. When a scan finds unreachable tensors for
        the first time, a warning is logged. See `scan_every` and `census_every` of
        :func:`warn_tensor_cycles`.

        Args:
            number: 0 to 2**63 - 1.

        Raises:
            TypeError: `number` is not an integer.
            ValueError: `number` is out of range.

        Examples:
            >>> with cyclewatch.watch(devices="cpu") as watch:
            ...     for step in range(3):
            ...         watch.step(step)
            ...         train()
            >>> [collection.step for collection in watch.report().collections]
            [0, 1, 2]
        """
        try:
            step = index(number)
        except TypeError:
            raise TypeError(f"step() expects an integer, not {number!r}") from None
        if not 0 <= step <= _LARGEST_STEP:
            raise ValueError(f"the step must be from 0 to 2**63 - 1, not {step}")
        if self._recorder is not None:
            self._recorder.poke()
        notify(step, counted=False)
        self._native_watch.step(step)
        if self._never_freed:
            note_search()
            self._native_watch.find_never_freed(torch_layout(), _SETTLED_AFTER)

    def metrics(self) -> dict[str, float]:
        """Return the values that :func:`cyclewatch.metrics` describes, for this watch.

        Examples:
            >>> with cyclewatch.watch(devices="cpu") as watch:
            ...     train()
            >>> sorted(watch.metrics())[:2]
            ['cyclewatch/dead_bytes', 'cyclewatch/findings']
        """
        values = self._native_watch.metrics()
        return {f"cyclewatch/{name}": value for name, value in values.items()}

    @property
    def stats(self) -> Stats:
        """Durations, and counts of collections, objects, owners, findings and omissions."""
        return self._native_watch.stats()

    @property
    def report_paths(self) -> list[str]:
        """Paths of the report files written successfully; empty before the first finding."""
        return self._native_watch.report_paths()

    @property
    def snapshot_path(self) -> str | None:
        """Path of the memory snapshot (`snapshot` of :func:`watch`); None before it is written."""
        return None if self._snapshot is None else self._snapshot.written

    @property
    def active(self) -> bool:
        """False after :meth:`stop`."""
        return self._native_watch.active

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._autopsy is not None:
            # Examines an out-of-memory error; stop() would only end the observation.
            self._autopsy.__exit__(exception_type, exception, traceback)
        self.stop()

    def __repr__(self) -> str:
        return f"<cyclewatch.Watch {'active' if self.active else 'stopped'}>"


def warn_tensor_cycles(
    *,
    devices: str | Iterable[str] = "auto",
    report_dir: str | os.PathLike[str] | None = None,
    formats: str | Iterable[str] = ("html",),
    min_bytes: int = 0,
    budget: float = 0.01,
    capture_values: bool = False,
    source_lines: bool = True,
    scan_every: int | None = None,
    census_every: int = 0,
    repeat: str = "new",
    steps: tuple[int, int] | None = None,
    record_history: int = 0,
    oom: bool = True,
    exit_scan: bool = True,
    gather: float | None = None,
) -> Watch:
    """Warn about reference cycles that keep tensors alive, and write a report file.

    For each new finding, a :class:`TensorCycleWarning` is issued, attributed to the location of the
    reference to cut if this location is known. If the program handles log records, the logger
    ``cyclewatch`` also gets one line at level WARNING, with the attributes ``signature``,
    ``retained_bytes``, ``rank``, ``location`` and ``report``, and the finding's card, which
    describes the finding as text, at level INFO. When the retained size of a finding has doubled
    since its last warning, one line is logged and issued as a warning again. Warnings and log
    messages are issued on the main thread, after the collection. A background thread, which does
    not need the GIL, keeps the report ``cyclewatch-<script>-<pid>.html`` up to date.
    In a rank of a distributed job, the report is also written if there are no findings, when the
    watch stops, so that a merged report counts every rank.

    Args:
        devices: "auto" (accelerators if any is usable, else the CPU), "all", or device names such
            as ``("cuda", "cpu")`` or ``"cuda:1"``.
        report_dir: Directory for the report files; defaults to the current directory. A relative
            path is resolved at the time of the call. If the directory is not writable, the report
            is written to the temporary directory, and a warning is logged.
        formats: Any of "text", "json", "dot", "svg" and "html"; one file is written for each.
        min_bytes: Ignore findings that retain fewer bytes than this. Does not apply to tensors with
            an autograd graph, of which only a lower bound is known.
        budget: Share of wall time that the watch may use, above 0 and at most 1. If the budget is
            exceeded, only some collections are searched for owners. Totals are then lower bounds,
            and the report contains the number of collections that were not searched.
        capture_values: Also record values from the program, such as dict keys that are not
            identifiers.
        source_lines: Show the line of code of each reference to cut, with one line before and after
            it. Reports contain these lines. The source is read after the collection; if the file
            has changed since this process started, the lines are omitted.
        scan_every: :meth:`Watch.step` scans for unreachable tensors if the step's number is a
            multiple of this value; 0 disables scans. By default, every step scans while automatic
            collection is off (``gc.disable()``, a threshold of 0) or objects are frozen
            (``gc.freeze()``).
        census_every: Number of calls to :meth:`Watch.step` between two censuses of the reachable
            tensors; 0 disables censuses. A group of tensors is listed in `Report.growing`, and
            logged once, if its size reached a lasting new maximum in at least 3 of the last 5
            censuses. Each periodic census takes about as long as a call to :func:`census`, and is
            skipped if it would exceed the budget.
        repeat: "new": warn about new findings, and about known findings whose size has doubled.
            "each": also warn about each known finding in each collection that freed its tensors.
        steps: The first and the last step, both included. Collections in other steps are ignored,
            and :meth:`Watch.step` scans and takes censuses only in these steps. The step is set by
            :meth:`Watch.step` or :meth:`collect_at.run`; by default, all steps are observed. With
            `exit_scan`, the heap is scanned when the last step ends.
        record_history: Record the call stack of each allocation, so that `Owner.allocation_stack`
            and the reports show which calls allocated the tensors. For a GPU: the number of events
            in torch's memory history, such as 100,000, which starts when the program has
            initialized CUDA. For CPU tensors: the number of frames that tracemalloc records, at
            most 100; tracemalloc slows down the allocation of all Python objects. 0 records
            nothing.
            A recording that the program has started is used and not changed; a recording that the
            watch has started ends with the watch.
        oom: Write a report if the program or a thread ends with an out-of-memory error, as
            :class:`oom_autopsy` does for a block.
        exit_scan: Scan the whole heap at exit, or when a multiprocessing worker ends, if the watch
            is still active. The scan finds the cycles that no collection has examined, and frees
            nothing. It takes about as long as one full collection.
        gather: Seconds for which rank 0 waits at exit for the reports of the other ranks, to write
            a merged report beside its own; 0: do not merge. By default, rank 0 waits for up to 10
            seconds if there are at most 64 ranks, and does not merge if only rank 0 has a watch.
            The merged report names the ranks that have not reported by then. Applies only to
            programs that torchrun has started and that import torch.distributed.

    Returns:
        The active watch.

    Raises:
        ValueError: An argument is invalid. For a device or format, the message lists the valid
            values.
        TypeError: `devices`, `formats`, `report_dir` or an integer argument has the wrong type.
        RuntimeError: The watch cannot observe this interpreter's garbage collector.

    Examples:
        >>> import os
        >>> watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir="reports")
        >>> train()  # issues a TensorCycleWarning
        >>> watch.stop()
        >>> [os.path.relpath(path) for path in watch.report_paths]
        ['reports/cyclewatch-train-...html']
    """
    if gather is not None and not (isinstance(gather, (int, float)) and gather >= 0):
        raise ValueError(f"gather must be a number of seconds, at least 0, not {gather!r}")
    autopsy = None
    if oom:
        from cyclewatch.oom.autopsy import oom_autopsy

        autopsy = oom_autopsy(report_dir=report_dir)
    watch = start(
        devices,
        formats=names_in(formats, "formats"),
        report_dir=absolute_folder(report_dir),
        min_bytes=min_bytes,
        budget=budget,
        capture_values=capture_values,
        source_lines=source_lines,
        scan_every=scan_every,
        census_every=census_every,
        repeat=repeat,
        steps=steps,
        clean_report=True,
        exit_scan=exit_scan,
        record_history=record_history,
        on_finding=warn,
        on_log=log,
        autopsy=autopsy,
    )
    _replace_gathered(watch, gather)
    return watch


def observe_tensor_cycles(
    callback: Callable[[Report], object],
    *,
    devices: str | Iterable[str] = "auto",
    min_bytes: int = 0,
    budget: float = 0.01,
    capture_values: bool = False,
    source_lines: bool = True,
    record_history: int = 0,
) -> Watch:
    """Call ``callback(report)`` after each collection that freed tensors.

    The callback runs on the main thread, soon after the collection, and may run any Python code.
    An Exception raised by the callback is passed to ``sys.unraisablehook``; other exceptions, such
    as KeyboardInterrupt, propagate to the program. Does not write files.

    Args:
        callback: Receives a :class:`Report` that covers only that collection.
        devices: As in :func:`warn_tensor_cycles`.
        min_bytes: Ignore findings that retain fewer bytes than this. Does not apply to tensors with
            an autograd graph, of which only a lower bound is known.
        budget: Share of wall time that the watch may use.
        capture_values: Also record values from the program.
        source_lines: Show the line of code of each reference to cut.
        record_history: As in :func:`warn_tensor_cycles`.

    Returns:
        The active watch.

    Raises:
        TypeError: `callback` is not callable.
        ValueError: As in :func:`warn_tensor_cycles`.

    Examples:
        >>> def notify(report):
        ...     print(report.findings[0].headline)
        >>> with cyclewatch.observe_tensor_cycles(notify, devices="cpu"):
        ...     train()
        Trainer is part of a reference cycle that keeps 4.0 KiB of cpu memory alive: cut ...
    """
    if not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")

    return start(
        devices,
        min_bytes=min_bytes,
        budget=budget,
        capture_values=capture_values,
        source_lines=source_lines,
        record_history=record_history,
        on_report=callback,
        on_log=log,
    )


def watch(
    *,
    devices: str | Iterable[str] = "auto",
    min_bytes: int = 0,
    budget: float = 0.01,
    capture_values: bool = False,
    source_lines: bool = True,
    scan_every: int | None = None,
    census_every: int = 0,
    steps: tuple[int, int] | None = None,
    record_history: int = 0,
    never_freed: bool = False,
    snapshot: str | os.PathLike[str] | None = None,
) -> Watch:
    """Watch without issuing warnings or writing files; :meth:`Watch.report` returns the findings.

    For the other arguments and errors, see :func:`warn_tensor_cycles`.

    Args:
        never_freed: :meth:`Watch.step` also searches for tensors that no collection can free, as
            :func:`never_freed` does with ``settle=2``. Each search takes about as long as
            ``gc.collect()`` and is not limited by `budget`, so use it to search for a leak only.
            Not available on free-threaded builds (RuntimeError).
        snapshot: A file for a memory snapshot, as :func:`dump_snapshot` writes it. Until then,
            torch records its memory history: in `steps`, as passed to :meth:`Watch.step` or
            :meth:`collect_at.run`, or from the time the program initializes CUDA. The file is
            written after the last of `steps`, or when the watch or the program ends; if it cannot
            be written, a warning is logged. See `Watch.snapshot_path`.

    Examples:
        >>> with cyclewatch.watch(devices="cpu") as watch:
        ...     train()
        >>> for finding in watch.report().findings:
        ...     print(finding.retained_bytes, finding.title)
        4096 Trainer.hook -> run.__self__ -> Trainer
    """
    return start(
        devices,
        min_bytes=min_bytes,
        budget=budget,
        capture_values=capture_values,
        source_lines=source_lines,
        scan_every=scan_every,
        census_every=census_every,
        steps=steps,
        record_history=record_history,
        never_freed=never_freed,
        snapshot=snapshot,
        on_log=log,
    )


def _find_switch(frozen: bool) -> str:
    from cyclewatch.code.collector_switch import location

    return location(frozen)


def _find_allocations(
    storages: list[tuple[int, int, int, bool, int, int]],
) -> list[Stack] | str | None:
    from cyclewatch.watching.memory_recording import allocation_stacks

    return allocation_stacks(storages)


def start(
    devices: str | Iterable[str],
    *,
    formats: list[str] | None = None,
    report_dir: str | None = None,
    report_name: str = "",
    replace_report: bool = False,
    clean_report: bool = False,
    exit_scan: bool = False,
    min_bytes: int,
    budget: float,
    capture_values: bool = False,
    source_lines: bool = True,
    scan_every: int | None = None,
    census_every: int = 0,
    repeat: str = "new",
    steps: tuple[int, int] | None = None,
    follow_steps: bool = False,
    record_history: int = 0,
    never_freed: bool = False,
    snapshot: str | os.PathLike[str] | None = None,
    on_finding: Callable[[Finding, str | None, bool], None] | None = None,
    on_report: Callable[[Report], object] | None = None,
    on_log: Callable[[int, str], None] | None,
    autopsy: oom_autopsy | None = None,
) -> Watch:
    """Validate the arguments, read the configuration and start a watch."""
    min_bytes = integer_in("min_bytes", min_bytes, 0, (1 << 64) - 1)
    if not isinstance(budget, (int, float)) or not is_share(budget):
        raise ValueError(f"budget must be a number above 0 and at most 1, not {budget!r}")
    check_boolean("capture_values", capture_values)
    check_boolean("source_lines", source_lines)
    check_boolean("exit_scan", exit_scan)
    check_boolean("never_freed", never_freed)
    if scan_every is not None:
        scan_every = integer_in("scan_every", scan_every, 0, (1 << 31) - 1)
    census_every = integer_in("census_every", census_every, 0, (1 << 31) - 1)
    if repeat not in REPEATS:
        raise ValueError(f"repeat must be one of {', '.join(REPEATS)}, not {repeat!r}")
    if steps is not None:
        steps = _step_range(steps)
    if never_freed:
        require_gil()
    record_history = integer_in("record_history", record_history, 0, (1 << 31) - 1)
    snapshot = None if snapshot is None else os.path.abspath(os.fspath(snapshot))
    read_configuration()
    update_roots()
    devices = names_in(devices, "devices")
    watch = Watch(
        _native.start_watch(
            devices,
            formats or [],
            # Bytes, because a file name may not be valid UTF-8.
            os.fsencode(report_dir) if report_dir is not None else None,
            os.fsencode(report_name),
            replace_report,
            clean_report,
            is_worker(),
            exit_scan,
            min_bytes,
            budget,
            capture_values,
            scan_every,
            census_every,
            repeat == "each",
            steps,
            follow_steps,
            on_finding,
            on_report,
            excerpts if source_lines else None,
            on_log,
            _find_switch,
            _find_allocations,
        ),
        autopsy,
        _recorder(record_history, devices),
        never_freed,
        _snapshot_recording(snapshot, steps),
        capture_values,
    )
    if autopsy is not None:
        autopsy.__enter__()
    _started[:] = [each for each in _started if each.active]
    _started.append(watch)
    _worker_end.register()  # the watch may have been started in a worker
    return watch


def active_watch() -> Watch | None:
    """The watch that was started last and is still active."""
    return next((each for each in reversed(_started) if each.active), None)


def _recorder(entries: int, devices: list[str]) -> MemoryRecorder | None:
    if entries == 0:
        return None
    from cyclewatch.watching.memory_recording import MemoryRecorder

    return MemoryRecorder(entries, devices)


def _snapshot_recording(
    path: str | None, steps: tuple[int, int] | None
) -> SnapshotRecording | None:
    if path is None:
        return None
    from cyclewatch.snapshots.recording import SnapshotRecording

    return SnapshotRecording(path, steps)


def _step_range(steps: tuple[int, int]) -> tuple[int, int]:
    try:
        first, last = steps
    except (TypeError, ValueError):
        raise ValueError(f"steps must be the first and the last step, not {steps!r}") from None
    first = integer_in("the first step", first, 0, _LARGEST_STEP)
    return first, integer_in("the last step", last, first, _LARGEST_STEP)


def absolute_folder(report_dir: str | os.PathLike[str] | None) -> str:
    """The absolute path of `report_dir`, which stays valid if the current directory changes."""
    try:
        folder = os.fsdecode(report_dir) if report_dir is not None else os.curdir
    except TypeError:
        raise TypeError(f"report_dir expects a path, not {report_dir!r}") from None
    if "\0" in folder:
        raise ValueError(f"report_dir must not contain a null character: {folder!r}")
    try:
        return os.path.abspath(folder)
    except OSError:
        return folder  # the current directory has been removed
