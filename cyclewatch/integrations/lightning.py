# SPDX-License-Identifier: Apache-2.0
"""Callbacks for Lightning: a watch while ``Trainer.fit()`` runs, and step numbers for Fabric."""

from __future__ import annotations

import sys

from cyclewatch.integrations.training_watch import Training, TrainingWatch
from cyclewatch.watching.watches import active_watch

# The program may have installed and imported either package; both define the same classes.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CycleWatchCallback(Callback):  # type: ignore[misc]
    """Watches for reference cycles that keep tensors alive while ``Trainer.fit()`` runs.

    Calls :meth:`cyclewatch.Watch.step` with the trainer's ``global_step`` after each batch, which
    scans for unreachable tensors while automatic collection is off. Every ``log_every_n_steps``
    steps, passes :func:`cyclewatch.metrics` to the trainer's loggers. When the training ends,
    logs one line with the path of the report. If the training fails with an out-of-memory error,
    writes a report, as :class:`cyclewatch.oom_autopsy` does::

        trainer = lightning.Trainer(callbacks=[CycleWatchCallback(report_dir="reports")])

    If a watch is already active, for example because of ``CYCLEWATCH=1``, the callback uses that
    watch, ignores `settings` and does not stop the watch.

    Args:
        log_metrics: Pass the metrics to the trainer's loggers.
        settings: As for :func:`cyclewatch.warn_tensor_cycles`.
    """

    def __init__(self, *, log_metrics: bool = True, **settings: Any) -> None:
        """Store the settings; the watch starts with the training."""
        super().__init__()
        self._log_metrics = log_metrics
        self._run = TrainingWatch(settings)
        self._log_at = 0  # the step at which metrics are logged next

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Start the watch if `stage` is "fit"."""
        if stage == "fit":
            self._run.start(Training(trainer))
            self._log_at = trainer.global_step + trainer.log_every_n_steps

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Set the step of the watch, and log the metrics if they are due."""
        step = trainer.global_step
        self._run.step(step)
        if step >= self._log_at:
            self._log(trainer, step)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Stop the watch if `stage` is "fit"."""
        if stage == "fit":
            self._end(trainer, None)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the metrics for the last time, before the loggers are closed."""
        self._log(trainer, trainer.global_step)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stop the watch, because Lightning does not call teardown() in this case."""
        self._end(trainer, exception)

    def _end(self, trainer: Any, error: BaseException | None) -> None:
        self._run.finish(Training(trainer), error)
        # The trainer sets these methods of the model. They would keep the model and the trainer
        # alive, in a cycle with this callback.
        self.__dict__.pop("log", None)
        self.__dict__.pop("log_dict", None)

    def _log(self, trainer: Any, step: int) -> None:
        self._log_at = step + trainer.log_every_n_steps
        if self._log_metrics:
            metrics = self._run.metrics()
            for logger in trainer.loggers:
                logger.log_metrics(metrics, step=step)


class FabricCallback:
    """Passes the number of optimizer steps to the watch of a program that uses Lightning Fabric.

    Fabric has no hook for the start of the training, so this callback starts no watch: start one
    with :func:`cyclewatch.warn_tensor_cycles` or ``CYCLEWATCH=1``. If there are several optimizers,
    only the steps of the first one are counted.
    """

    def __init__(self) -> None:
        """Count from zero."""
        self._steps = 0
        self._counted: int | None = None  # id of the optimizer

    def on_after_optimizer_step(self, strategy: Any, optimizer: Any) -> None:
        """Count a step, and set the step of the watch."""
        self._counted = self._counted or id(optimizer)
        if self._counted != id(optimizer):
            return
        self._steps += 1
        watch = active_watch()
        if watch is not None:
            watch.step(self._steps)
