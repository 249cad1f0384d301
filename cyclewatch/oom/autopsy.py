# SPDX-License-Identifier: Apache-2.0
"""Reports memory use when an out-of-memory error propagates out of a block or ends the program."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from cyclewatch import _native
from cyclewatch.account import measurement
from cyclewatch.oom import observer as oom_observer
from cyclewatch.oom import wording
from cyclewatch.oom.errors import (
    device_of,
    exception_chain,
    is_device_error,
    is_of_another_process,
    is_out_of_memory,
    requested_bytes,
)
from cyclewatch.watching.finding_warnings import log
from cyclewatch.watching.watches import absolute_folder, active_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_ERROR = 40  # logging.ERROR
_NOTE = "cyclewatch: "
_OCCASION = "out of memory"
_MOST_NAMES = 1000  # of report files in a folder

# The active autopsies, oldest first; the last one decides where the report is written.
_active: list[oom_autopsy] = []
_written: set[str] = set()  # the reports of this process
# The last failure that torch's observer reported, and its report file.
_observed: tuple[measurement.Memory, str | None] | None = None


class oom_autopsy:  # noqa: N801 - used like a function, as in contextlib
    """Context manager that reports memory use if its block runs out of memory.

    Writes the report ``cyclewatch-<script>-<pid>-oom.txt`` and the page
    ``cyclewatch-<script>-<pid>-oom.html`` if an out-of-memory error propagates out of the block, or
    ends the program or a thread while the block runs. For the recognized errors, see
    :func:`retry_on_oom`. Also adds a note with the paths of both to the exception
    (``add_note()``), so that every traceback shows them::

        with cyclewatch.oom_autopsy():
            train()

    The report shows how many bytes were requested and how many were in use. The bytes in use are
    broken down into bytes reachable from Python, bytes in dead cycles that a collection would free,
    and the rest. The first line names the reference to cut and the path of the largest reachable
    group. The report also contains the cards of these cycles and the largest reachable tensors; the
    page also shows what the latest active watch, if any, has found so far. No garbage is
    collected. Tensors of the failed step are still reachable, because the traceback of the
    exception refers to them.

    On a CUDA device, the bytes in use are the bytes that torch's allocator has allocated. On the
    CPU, the bytes in use are the resident memory of the process, or its address space if
    ``RLIMIT_AS`` is set.

    If torch records its memory history when an error of a CUDA device propagates, torch's memory
    snapshot is written next to the report, for ``cyclewatch snapshot``.

    :func:`warn_tensor_cycles` and ``cyclewatch run`` write such a report for the whole program.

    Attributes:
        report_path: Path of the last report; None before the first one.

    Args:
        report_dir: Directory for the report; defaults to the current directory. The directory is
            created if it does not exist. If it is not writable, the temporary directory is used.

    Examples:
        >>> try:
        ...     with cyclewatch.oom_autopsy() as autopsy:
        ...         bytearray(1 << 62)
        ... except MemoryError as error:
        ...     print(error.__notes__[0])
        cyclewatch: out of memory on cpu: ...
    """

    def __init__(self, *, report_dir: str | os.PathLike[str] | None = None) -> None:
        """Store the arguments; observation begins with the ``with`` block."""
        self._folder = absolute_folder(report_dir)
        self._creates_folder = not os.path.exists(self._folder)
        self.report_path: str | None = None
        self._handled = 0

    def __enter__(self) -> oom_autopsy:
        # A surrounding `except` block, if any, keeps the exception alive, so the id stays valid.
        self._handled = id(sys.exception())
        start(self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exception is not None:
            _annotate(exception, 0 if id(exception) == self._handled else self._handled)
        stop(self)


def start(autopsy: oom_autopsy) -> None:
    """Observe errors until :func:`stop`. Idempotent."""
    if autopsy not in _active:
        _active.append(autopsy)
    measurement.keep_reserve()
    _native.set_failure_handler(_annotate)
    oom_observer.start(_on_device_failure)


def stop(autopsy: oom_autopsy) -> None:
    """Undo :func:`start`. Idempotent."""
    if autopsy in _active:
        _active.remove(autopsy)
    if not _active:
        _native.set_failure_handler(None)
        measurement.release_reserve()
        oom_observer.stop()


def report_failed_program() -> None:
    """At exit, report the out-of-memory error that ended the program, if nothing has yet.

    The hook that reports it earlier is installed after a collection while torch is imported or
    later, which some programs end before. No address space is kept in reserve afterwards.
    """
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not _active or hasattr(sys, "ps1") or not isinstance(error, BaseException):
        return
    if note := _reported(error):
        log(_ERROR, note)


# Runs before the exit handlers of watches.py, which complete the report files.
atexit.register(report_failed_program)


def _on_device_failure(memory: measurement.Memory) -> None:
    global _observed
    if _active:
        _observed = (memory, _write(_active[-1], wording.oom_report(memory)))


def _write(autopsy: oom_autopsy, text: str) -> str | None:
    """Write a report, replacing this process's earlier one. Return its path, or None."""
    path = _write_in_folder(autopsy, text.encode(errors="replace"), ".txt")
    if path is not None:
        autopsy.report_path = path
    return path


def _write_snapshot(autopsy: oom_autopsy, device: int) -> str | None:
    """Write torch's memory snapshot if torch records its history. Return its path, or None.

    Must not be called while torch's observer runs, because torch imports modules to name the calls.
    """
    from cyclewatch.watching.memory_recording import is_recorded

    if not is_recorded(device):
        return None
    from cyclewatch.snapshots.writing import snapshot_with_owners

    return _write_in_folder(autopsy, snapshot_with_owners(), ".pickle")


def _write_in_folder(autopsy: oom_autopsy, contents: bytes, suffix: str) -> str | None:
    """Write a file to the folder of the reports or, if that fails, the temporary directory."""
    for folder in (autopsy._folder, None):
        if folder is None:
            import tempfile

            folder = tempfile.gettempdir()
        try:
            if autopsy._creates_folder:
                os.makedirs(folder, exist_ok=True)
            return _write_new(folder, contents, suffix)
        except OSError:
            continue
    return None


def _write_new(folder: str, contents: bytes, ending: str) -> str:
    """Write a file and return its path. Replaces only files that this process has written."""
    for number in range(1, _MOST_NAMES):
        suffix = "" if number == 1 else f"-{number}"
        path = os.path.join(folder, f"{_native.report_stem()}-oom{suffix}{ending}")
        with contextlib.suppress(FileExistsError):
            if path in _written:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            _native.write_file(path, contents, replace=False, owner_only=True)
            _written.add(path)
            return path
    raise FileExistsError(folder)


def _annotate(error: BaseException, handled: int = 0) -> None:
    try:
        _reported(error, handled)
    finally:
        if _active:
            measurement.keep_reserve()


def _reported(error: BaseException, handled: int = 0) -> str | None:
    """If the chain of `error` contains an out-of-memory error, write a report about it.

    Adds a note with the headline to that error, and returns the note. Returns None if the error has
    the note already.
    """
    try:
        for each in exception_chain(error, handled=handled):
            if is_out_of_memory(each):
                if _has_note(each) or is_of_another_process(each):
                    return None
                measurement.release_reserve()
                note = _NOTE + _report(each)
                _add_note(each, note)
                return note
    except Exception as problem:
        # The examination may run out of memory, too. The program must see only its own error.
        log(_ERROR, f"no out-of-memory report: {type(problem).__name__}: {problem}")
    return None


def _has_note(error: BaseException) -> bool:
    try:
        notes = getattr(error, "__notes__", None)  # the program may have set it to anything
    except BaseException:
        return False  # a property of the program, which may raise SystemExit
    return isinstance(notes, list) and any(str(note).startswith(_NOTE) for note in notes)


def _add_note(error: BaseException, note: str) -> None:
    try:
        error.add_note(note)
    except (Exception, SystemExit):
        log(_ERROR, note)  # add_note() may be overridden, or __notes__ may be invalid


def _report(error: BaseException) -> str:
    """Write the report. Returns a line with the headline and the path of the report."""
    global _observed
    observed, _observed = _observed, None
    if observed is not None and _is_failure_of(error, observed[0]):
        memory, path = observed
    else:
        memory = measurement.Memory(device_of(error), requested_bytes(error))
        path = _write(_active[-1], wording.oom_report(memory)) if _active else None
    page = _record(memory)
    line = wording.oom_headline(memory)
    line += "" if page is None else f"; page: {page}"
    line += "" if path is None else f"; report: {path}"
    kind, _, index = memory.device.partition(":")
    if _active and kind == "cuda":
        snapshot = _snapshot_path(_active[-1], int(index))
        line += "" if snapshot is None else f"; snapshot: {snapshot} (cyclewatch snapshot)"
    return line


def _record(memory: measurement.Memory) -> str | None:
    """Add the account to the report of the active watch, if any.

    Also writes a page. Returns its path, or None.
    """
    from cyclewatch.account import memory_account  # late: `import cyclewatch` must be fast

    try:
        account = memory_account.of_measured(memory)
        if (watch := active_watch()) is not None:
            # It may not have seen, or not all of, the cycles that the account counts.
            watch._native_watch.scan_all()
        memory_account.record(account, _OCCASION)
        if not _active:
            return None
        report = memory_account.report_of(memory, account, _OCCASION)
        return _write_in_folder(_active[-1], report.to_html().encode(), ".html")
    except Exception as problem:
        log(_ERROR, f"no account of the memory: {type(problem).__name__}: {problem}")
    return None


def _snapshot_path(autopsy: oom_autopsy, device: int) -> str | None:
    try:
        return _write_snapshot(autopsy, device)
    except Exception as problem:  # private functions of torch, which may change
        log(_ERROR, f"no memory snapshot: {type(problem).__name__}: {problem}")
        return None


def _is_failure_of(error: BaseException, memory: measurement.Memory) -> bool:
    """Whether `memory` and `error` describe the same failure. The size in `error` is rounded."""
    size = requested_bytes(error)
    return (
        is_device_error(error)
        and size is not None
        and memory.requested is not None
        and abs(size - memory.requested) <= memory.requested // 100
    )
