# SPDX-License-Identifier: Apache-2.0
"""A callback for the Trainer of Hugging Face Transformers."""

from __future__ import annotations

import sys
import weakref
from inspect import unwrap

from transformers import TrainerCallback

from cyclewatch.integrations.training_watch import Training, TrainingWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any


class CycleWatchCallback(TrainerCallback):  # type: ignore[misc]
    """Watches for reference cycles that keep tensors alive while ``Trainer.train()`` runs.

    Calls :meth:`cyclewatch.Watch.step` with the trainer's ``global_step`` after each step, which
    scans for unreachable tensors while automatic collection is off. When the trainer logs, passes
    :func:`cyclewatch.metrics` to its loggers. When the training ends, logs one line with the path
    of the report::

        trainer = transformers.Trainer(...)
        CycleWatchCallback(report_dir="reports").attach(trainer)

    The results of the trainer, such as the metrics that ``evaluate()`` returns, and its history do
    not contain the metrics. ``Trainer(callbacks=[CycleWatchCallback()])`` does the same without the
    metrics, because the trainer does not tell a callback which loggers it has.

    The trainer does not tell callbacks that a training failed. In that case the watch stops when
    the next training with a callback of cyclewatch starts or the program ends, so an out-of-memory
    error that ends the program is reported.

    If a watch is already active, for example because of ``CYCLEWATCH=1``, the callback uses that
    watch, ignores `settings` and does not stop the watch.

    Args:
        log_metrics: Pass the metrics to the loggers of ``report_to``; needs :meth:`attach`.
        settings: As for :func:`cyclewatch.warn_tensor_cycles`.
    """

    def __init__(self, *, log_metrics: bool = True, **settings: Any) -> None:
        """Store the settings; the watch starts with the training."""
        self._log_metrics = log_metrics
        self._run = TrainingWatch(settings)

    def attach(self, trainer: Any) -> None:
        """Add this callback to `trainer`, and pass the metrics to its loggers. Idempotent."""
        from transformers.integrations import INTEGRATION_TO_CALLBACK

        callbacks = trainer.callback_handler.callbacks
        if self not in callbacks:
            callbacks.insert(0, self)
        is_logging = any(
            isinstance(each, _AddMetrics) and each.run is self._run for each in callbacks
        )
        classes = tuple(INTEGRATION_TO_CALLBACK.values())
        loggers = [at for at, each in enumerate(callbacks) if isinstance(each, classes)]
        if self._log_metrics and loggers and not is_logging:
            add = _AddMetrics(self._run)
            callbacks.insert(loggers[-1] + 1, _RemoveMetrics(add))
            callbacks.insert(loggers[0], add)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the watch."""
        self._run.start(_TrainCall(state))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Set the step of the watch."""
        self._run.step(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop the watch."""
        self._run.finish(_TrainCall(state))


class _TrainCall(Training):
    """A call of ``Trainer.train()``, which runs while its frame is on the stack of a thread.

    Of a trainer with another ``train()`` (PPO), this is not known: it runs while its state exists.
    """

    def __init__(self, state: Any) -> None:
        # Each call makes a state. The address of a frame may be that of an earlier one.
        self._state = weakref.ref(state)
        self._frame = next(map(id, _train_frames(sys._getframe())), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _TrainCall):
            return False
        return self._frame == other._frame and self._state() is other._state() is not None

    __hash__ = None

    def is_running(self, started: Training) -> bool:
        """Whether the call has not ended, when the training `started` begins or ends."""
        if self._frame is None:
            return self._state() is not None
        if isinstance(started, _TrainCall) and started._frame == self._frame:
            return self == started
        stacks = sys._current_frames()
        try:
            tops = stacks.values()
            return any(id(frame) == self._frame for top in tops for frame in _train_frames(top))
        finally:
            stacks.clear()  # one of the frames is that of this method


def _train_frames(top: FrameType) -> Iterator[FrameType]:
    """The frames of ``Trainer.train()`` on a stack, innermost first."""
    from transformers import Trainer

    code = unwrap(Trainer.train).__code__
    frame: FrameType | None = top
    while frame is not None:
        if frame.f_code is code:
            yield frame
        frame = frame.f_back


class _AddMetrics(TrainerCallback):  # type: ignore[misc]
    """Adds the metrics to the values that the trainer passes to its loggers, once per step.

    The dict of these values is also the result of ``train()`` or ``evaluate()``, for example the
    objective of ``hyperparameter_search()``. _RemoveMetrics, which is called after the loggers,
    therefore removes the metrics. The loggers are called once for each dict: some count the calls.
    """

    def __init__(self, run: TrainingWatch) -> None:
        self.run = run
        self.added: list[str] = []
        self._logged_step = -1

    def __reduce__(self) -> tuple[type[TrainerCallback], tuple[()]]:
        return TrainerCallback, ()  # a copy has no watch

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._logged_step = -1

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        if logs is None or not self.run.is_active or state.global_step == self._logged_step:
            return
        self._logged_step = state.global_step
        metrics = self.run.metrics()
        self.added = [name for name in metrics if name not in logs]
        logs.update((name, metrics[name]) for name in self.added)


class _RemoveMetrics(TrainerCallback):  # type: ignore[misc]
    def __init__(self, add: _AddMetrics) -> None:
        self._add = add

    def __reduce__(self) -> tuple[type[TrainerCallback], tuple[()]]:
        return TrainerCallback, ()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        for name in self._add.added:
            if logs is not None:
                logs.pop(name, None)
        self._add.added = []
