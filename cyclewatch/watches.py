# SPDX-License-Identifier: Apache-2.0
"""Turning a watch on and off, and what each kind of watch does with what it finds."""

from __future__ import annotations

import atexit
import operator
import os
import sys

from cyclewatch import _native
from cyclewatch.configuration import read_configuration
from cyclewatch.errors import TensorCycleWarning

# As typing.TYPE_CHECKING, whose module alone would cost more than the whole package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any

    from cyclewatch._native import Finding, NativeWatch, Report, Stats

_LARGEST_STEP = 2**63 - 1
_WARNING, _ERROR = 30, 40  # levels of logging, which is imported late
# Where a warning stands if no line of code is known for the reference to cut.
_NO_FILE = "<garbage collection>"

# Types with a reader of the user's; _native keeps the readers.
_registered_types: set[type] = set()

# Process id in which multiprocessing was asked to finish the report, 0 for none.
_finisher_pid = 0

# Before the interpreter goes down: what was found is told, the report file finished.
atexit.register(_native.shutdown)


class Watch:
    """A watch that is on until :meth:`stop`, which calling it or leaving its ``with`` does too.

    Dropping the object does not end the watch. What it found stays at hand afterwards.
    """

    __slots__ = ("_native_watch",)

    def __init__(self, native_watch: NativeWatch) -> None:
        """Wrap a running watch; use :func:`watch` and its siblings to get one."""
        self._native_watch = native_watch

    def stop(self) -> None:
        """End the watch, deliver what is due and finish its report file. Again: does nothing."""
        self._native_watch.stop()

    def __call__(self) -> None:
        """End the watch, as what torch's function of the same name returns is used."""
        self.stop()

    def report(self) -> Report:
        """Everything found up to the last collection. Warnings still queued are issued first."""
        return self._native_watch.report()

    def step(self, number: int) -> None:
        """Tell which step of the training, or of whatever it counts, the program is at.

        What is found from now on says at which step it was first seen. Costs nothing to speak of.
        Raises ValueError for a number below 0 or above 2**63 - 1, TypeError for what is no whole
        number.
        """
        try:
            whole = operator.index(number)
        except TypeError:
            raise TypeError(f"a step is a whole number, not {number!r}") from None
        if not 0 <= whole <= _LARGEST_STEP:
            raise ValueError(f"a step counts from 0 upwards to 2**63 - 1, not {whole}")
        self._native_watch.step(whole)

    @property
    def stats(self) -> Stats:
        """What was seen (collections, objects, owners, findings), spent and skipped."""
        return self._native_watch.stats()

    @property
    def report_paths(self) -> list[str]:
        """The files of the report; none until something was found, none that failed."""
        return self._native_watch.report_paths()

    @property
    def active(self) -> bool:
        """False once the watch has been stopped."""
        return self._native_watch.active

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
) -> Watch:
    """Warn about every reference cycle that kept tensors alive, and write a report file.

    After a collection freed tensors, one :class:`TensorCycleWarning` is issued per finding, at
    the file and line of the reference to cut where that is known, and its card is logged by the
    logger ``cyclewatch``. The report, ``cyclewatch-<script>-<pid>.html``, is rewritten in the
    background as findings come.

    Args:
        devices: "auto" (accelerators if one is usable, else the CPU), "all", or names such as
            ``("cuda", "cpu")`` and ``"cuda:1"``.
        report_dir: Folder of the report files; default: the current directory. It counts from
            where the program is now, wherever it goes later. If it cannot be written, the
            temporary directory is used and the log says so.
        formats: Any of "text", "json", "dot", "svg" and "html"; one file each.
        min_bytes: Findings that held fewer bytes are kept out.
        budget: Share of wall time, 0 to 1, that the watch may use; beyond it equal findings are
            only counted, and the report says what was skipped. Owners and their bytes are counted
            all the same, which takes some 2 microseconds for each that dies.
        capture_values: Also record values from the program, such as dict keys that are no
            identifiers. By default a report holds types, names and code locations only.

    Returns:
        The watch; call it, or its ``stop()``, to end it.

    Raises:
        ValueError: An unknown device or format; the message lists the valid ones.
    """
    return start(
        devices,
        formats=_words(formats, "formats"),
        report_dir=_folder(report_dir),
        min_bytes=min_bytes,
        budget=budget,
        capture_values=capture_values,
        on_finding=warn,
        on_log=log,
    )


def observe_tensor_cycles(
    callback: Callable[[Report], object],
    *,
    devices: str | Iterable[str] = "auto",
    min_bytes: int = 0,
    budget: float = 0.01,
    capture_values: bool = False,
) -> Watch:
    """Call ``callback(report)`` after each collection that freed tensors.

    The callback runs on the main thread, outside the collection. If it raises an Exception,
    ``sys.unraisablehook`` is called with it and the watch goes on; other exceptions, such as
    KeyboardInterrupt, propagate to the program. No file is written; see
    :func:`warn_tensor_cycles` for the other arguments and errors.
    """
    if not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")

    return start(
        devices,
        min_bytes=min_bytes,
        budget=budget,
        capture_values=capture_values,
        on_report=callback,
        on_log=log,
    )


def watch(
    *,
    devices: str | Iterable[str] = "auto",
    min_bytes: int = 0,
    budget: float = 0.01,
    capture_values: bool = False,
) -> Watch:
    """Watch silently: ``with cyclewatch.watch() as w: ...; print(w.report().to_text())``.

    No warning, no file. See :func:`warn_tensor_cycles` for arguments and errors.
    """
    return start(
        devices, min_bytes=min_bytes, budget=budget, capture_values=capture_values, on_log=log
    )


def register_owner(owner_type: type, reader: Callable[[Any], Mapping[str, object] | None]) -> None:
    """Teach every watch that objects of `owner_type`, or of a subclass, own device memory.

    ``reader(obj)`` returns ``{"device": "cuda:0", "nbytes": int, "data_ptr": int}`` with, if it
    likes, ``"shape"`` and ``"dtype"``; or None if `obj` owns nothing. Equal ``device`` and
    ``data_ptr`` mean the same memory, which is counted once. The reader runs inside a collection
    on an object about to die: it must be quick, keep no reference to it and make no container
    that holds it. If it raises an Exception, the object is skipped and counted, and
    ``sys.unraisablehook`` is called for the reader's first one; other exceptions, such as
    KeyboardInterrupt, are raised on the main thread after the collection. An unusable answer, or
    more than 2**48 bytes, is logged once. Only 64 dimensions of a shape and 1,000 characters of
    other texts are read.

    Registering a type again replaces its reader. Raises TypeError if `owner_type` is not a type
    or `reader` is not callable.
    """
    if not isinstance(owner_type, type):
        raise TypeError(f"register_owner needs a type, not {owner_type!r}")
    if not callable(reader):
        raise TypeError(f"the reader must be callable, not {type(reader).__name__}")
    _native.register_owner(owner_type, reader)
    _registered_types.add(owner_type)


def unregister_owner(owner_type: type) -> None:
    """Forget what :func:`register_owner` was told of `owner_type`.

    Raises TypeError if it is not a type, KeyError if register_owner() was told nothing of it.
    """
    if not isinstance(owner_type, type):
        raise TypeError(f"unregister_owner needs a type, not {owner_type!r}")
    if not _native.unregister_owner(owner_type):
        raise KeyError(f"register_owner() was told nothing of {owner_type.__name__}")
    _registered_types.discard(owner_type)


def registered_types() -> frozenset[type]:
    """The types that :func:`register_owner` was told of and that were not taken back."""
    return frozenset(_registered_types)


def start(
    devices: str | Iterable[str],
    *,
    formats: list[str] | None = None,
    report_dir: str | None = None,
    report_name: str = "",
    replace_report: bool = False,
    min_bytes: int,
    budget: float,
    capture_values: bool = False,
    on_finding: Callable[[Finding, str | None], None] | None = None,
    on_report: Callable[[Report], object] | None = None,
    on_log: Callable[[int, str], None] | None,
) -> Watch:
    """Check what the public functions have in common, and start the watch."""
    if not isinstance(min_bytes, int) or min_bytes >= 1 << 64:
        raise ValueError(f"min_bytes is a whole number of bytes below 2**64, not {min_bytes!r}")
    if not isinstance(budget, (int, float)):
        raise ValueError(f"budget is a share of wall time such as 0.01, not {budget!r}")
    if min_bytes < 0:
        raise ValueError(f"min_bytes must not be negative, but is {min_bytes}")
    if not 0 < budget <= 1:
        raise ValueError(f"budget is a share of wall time above 0 and up to 1, but is {budget}")
    if not isinstance(capture_values, bool):
        raise ValueError(f"capture_values is True or False, not {capture_values!r}")
    read_configuration()
    return Watch(
        _native.start_watch(
            _words(devices, "devices"),
            _known_formats(formats or []),
            # As bytes: the name of a file need not be valid text.
            os.fsencode(report_dir) if report_dir is not None else None,
            os.fsencode(report_name),
            replace_report,
            min_bytes,
            budget,
            capture_values,
            on_finding,
            on_report,
            on_log,
        )
    )


def _words(value: str | Iterable[str], argument: str) -> list[str]:
    if isinstance(value, (bytes, bytearray)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{argument} takes a name or several, not {value!r}")
    words = [value] if isinstance(value, str) else list(value)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{argument} takes names, not {word!r}")
    return words


def _folder(report_dir: str | os.PathLike[str] | None) -> str:
    """`report_dir` in full: the program may change the current directory."""
    try:
        folder = os.fsdecode(report_dir) if report_dir is not None else os.curdir
    except TypeError:
        raise TypeError(f"report_dir takes a path, not {report_dir!r}") from None
    if "\0" in folder:
        raise ValueError(f"report_dir must not contain a null character, but is {folder!r}")
    try:
        return os.path.abspath(folder)
    except OSError:
        return folder  # the current directory has been removed


def _known_formats(formats: list[str]) -> list[str]:
    known = _native.format_names()
    for name in formats:
        if name not in known:
            raise ValueError(f"unknown format {name!r}; the formats are {', '.join(known)}")
    return formats


def warn(finding: Finding, report_path: str | None) -> None:
    """Log the card and issue the warning of a new finding."""
    # Called from between two instructions of the main thread: nothing may be raised there, not
    # even where warnings are errors.
    finish_with_multiprocessing(finding, report_path)
    try:
        if "ipykernel" in sys.modules:
            from cyclewatch.notebook import display_finding

            if display_finding(finding):
                return
        log(_WARNING, f"{finding.to_text()}{_report_line(report_path)}")
        issue_warning(finding, report_path)
    except Exception as error:
        log(_ERROR, f"{type(error).__name__}: {error}")


def finish_with_multiprocessing(_finding: Finding, _report_path: str | None) -> None:
    """Have the report finished where this is a worker of multiprocessing."""
    # A forked worker of multiprocessing, or of a DataLoader, leaves through os._exit(): atexit
    # never runs there, and the report file would not be finished.
    global _finisher_pid
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is None or util is None or process.parent_process() is None:
        return
    if _finisher_pid != os.getpid():
        _finisher_pid = os.getpid()
        util.Finalize(None, _native.shutdown, exitpriority=0)


def issue_warning(finding: Finding, report_path: str | None) -> None:
    """Issue the :class:`TensorCycleWarning` of `finding`. Raises it where warnings are errors."""
    import warnings

    location = finding.cut.location if finding.cut is not None else None
    path, _, line = (location or "").rpartition(":")
    known = bool(path) and line.isdigit()
    warnings.warn_explicit(
        # A class can have any name, and the message goes to a terminal.
        _native.clean_text(finding.headline) + _report_line(report_path),
        TensorCycleWarning,
        filename=path if known else _NO_FILE,
        lineno=int(line) if known else 1,
        # Without a registry every finding is told, even two at one line.
        registry=None,
    )


def log(level: int, message: str) -> None:
    """Pass on what a watch has to say; to standard error, if at all, where logging fails."""
    try:
        _logger().log(level, "%s", message)
    except Exception:
        # Out of file descriptors to import logging, or a log handler that fails: the program did
        # not ask for this message, and is not to be told of what becomes of it.
        try:
            print(f"cyclewatch: {message}", file=sys.stderr)
        except Exception:
            return


def _report_line(report_path: str | None) -> str:
    return f"\nreport: {_native.clean_text(report_path)}" if report_path else ""


def _logger() -> Any:
    # Imported when there is something to say: `import cyclewatch` is to cost nothing.
    import logging

    return logging.getLogger("cyclewatch")
