# SPDX-License-Identifier: Apache-2.0
"""The watch of one training run; the callbacks for trainers share this class."""

from __future__ import annotations

from cyclewatch import _native
from cyclewatch.watching import watches
from cyclewatch.watching.finding_warnings import log, reported_findings
from cyclewatch.wording import clean_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_INFO, _WARNING = 20, 30  # levels of logging


# The runs with a training that has not ended, as far as their trainers have said.
_unfinished: list[TrainingWatch] = []


class Training:
    """Identifies one training of a trainer, `owner`, that says when its trainings end."""

    def __init__(self, owner: object) -> None:
        """Does not keep `owner` alive."""
        self._owner = id(owner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Training) and self._owner == other._owner

    __hash__ = None  # type: ignore[assignment]

    def is_running(self, started: Training) -> bool:
        """Whether the training still runs, when the training `started` begins or ends."""
        return True


class TrainingWatch:
    """Starts a watch when the training begins, and stops it when the training ends.

    If a watch is active when the training begins, for example because of CYCLEWATCH=1, that watch
    is used, and the settings are ignored. If a training begins inside another one, both use the
    watch of the outer one, which ends with the outer one.

    A copy, also in another process, has the same settings and no watch.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Store the arguments for :func:`cyclewatch.warn_tensor_cycles`."""
        self._settings = settings
        self._stopped: watches.Watch | None = None
        self._watch: watches.Watch | None = None
        self._is_ours = False
        self._trainings: list[Training] = []  # the outer one first
        self.step: Callable[[int], None] = _ignore

    def __reduce__(self) -> tuple[type[TrainingWatch], tuple[Mapping[str, Any]]]:
        return TrainingWatch, (self._settings,)

    def start(self, training: Training) -> None:
        """Start or find the watch. Ends the runs whose trainings have failed without notice.

        Raises:
            TypeError, ValueError, RuntimeError: As :func:`cyclewatch.warn_tensor_cycles`.
        """
        for run in [*_unfinished]:
            run._end_failed(training)
        self.finish(training)  # the same trainer begins again
        if self._watch is None:
            watch = watches.active_watch()
            self._is_ours = watch is None
            self._watch = watch or watches.warn_tensor_cycles(**self._settings)
            # Without the check of the argument, which is a trainer's counter: half the time.
            has_recorder = self._watch._recorder is not None
            self.step = self._watch.step if has_recorder else self._watch._native_watch.step
            _unfinished.append(self)
        self._trainings.append(training)

    def _end_failed(self, started: Training) -> None:
        for training in [each for each in self._trainings if not each.is_running(started)]:
            self.finish(training)

    @property
    def is_active(self) -> bool:
        """Whether a training runs."""
        return self._watch is not None

    def metrics(self) -> dict[str, float]:
        """The metrics of the watch, or of the last one; empty before the first training."""
        watch = self._watch or self._stopped
        return {} if watch is None else watch.metrics()

    def finish(self, training: Training, error: BaseException | None = None) -> None:
        """End a training. Idempotent.

        If no other training runs, stops the watch if this class started it, and logs the result and
        the report. `error` is the exception that ended the training. If it is an out-of-memory
        error, its report is written.
        """
        if training not in self._trainings:
            return
        self._trainings.remove(training)
        # An inner training may have failed without notice.
        self._trainings = [each for each in self._trainings if each.is_running(training)]
        if self._trainings:
            return
        watch, self._watch, self.step = self._watch, None, _ignore
        _unfinished.remove(self)
        if watch is None:
            return
        self._stopped = watch
        if self._is_ours and watch.active:
            if error is not None and watch._autopsy is not None:
                watch._autopsy.__exit__(type(error), error, None)
            watch._native_watch.scan_at_end()
            watch.stop()
            _log_result(watch)


def _ignore(step: int) -> None:
    """Stands for Watch.step() while no training runs."""


def _log_result(watch: watches.Watch) -> None:
    report = watch.report()
    findings = reported_findings(report)
    lines = [f"cyclewatch: {findings[0].headline.rstrip('.')}" if findings else clean_line(report)]
    lines += [f"report: {path}" for path in watch.report_paths]
    log(_WARNING if findings else _INFO, "; ".join(map(_native.clean_text, lines)))
