# SPDX-License-Identifier: Apache-2.0
"""A callback for the Trainer of Hugging Face Transformers."""

from __future__ import annotations

from transformers import TrainerCallback

from cyclewatch.integrations.training_watch import TrainingWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CycleWatchCallback(TrainerCallback):  # type: ignore[misc]
    """Watches for reference cycles that keep tensors alive while ``Trainer.train()`` runs.

    Calls :meth:`cyclewatch.Watch.step` with the trainer's ``global_step`` after each step, which
    scans for unreachable tensors while automatic collection is off. Adds :func:`cyclewatch.metrics`
    to the values that the trainer logs. When the training ends, logs one line with the path of the
    report::

        trainer = transformers.Trainer(...)
        CycleWatchCallback(report_dir="reports").attach(trainer)

    ``Trainer(callbacks=[CycleWatchCallback()])`` does the same, but the loggers of ``report_to``
    do not receive the metrics, because the trainer calls them first.

    The trainer does not tell callbacks that a training failed. In that case the watch stops when
    the next training starts or the program ends, so an out-of-memory error that ends the program
    is reported.

    If a watch is already active, for example because of ``CYCLEWATCH=1``, the callback uses that
    watch, ignores `settings` and does not stop the watch.

    Args:
        log_metrics: Add the metrics to the values that the trainer logs.
        settings: As for :func:`cyclewatch.warn_tensor_cycles`.
    """

    def __init__(self, *, log_metrics: bool = True, **settings: Any) -> None:
        """Store the settings; the watch starts with the training."""
        self._log_metrics = log_metrics
        self._run = TrainingWatch(settings)

    def attach(self, trainer: Any) -> None:
        """Add this callback to `trainer` in front of its loggers, so that they log the metrics."""
        trainer.callback_handler.callbacks.insert(0, self)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the watch."""
        self._run.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Set the step of the watch."""
        self._run.step(state.global_step)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Add the metrics to the values that the trainer logs."""
        if self._log_metrics and logs is not None:
            logs.update(self._run.metrics())

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop the watch."""
        self._run.finish()
