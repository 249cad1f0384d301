# SPDX-License-Identifier: Apache-2.0
"""Callbacks for Lightning: a watch while ``Trainer.fit()`` runs, and step numbers for Fabric."""

from __future__ import annotations

import sys
from weakref import WeakKeyDictionary

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
    scans for unreachable tensors while automatic collection is off. Whenever the trainer logs its
    own values, passes :func:`cyclewatch.metrics` to its loggers, with the same step number, and
    once more after the last batch. When the training ends, logs one line with the path of the
    report. If the training fails with an out-of-memory error, writes a report, as
    :class:`cyclewatch.oom_autopsy` does::

        trainer = lightning.Trainer(callbacks=[CycleWatchCallback(report_dir="reports")])

    If a watch is already active, for example because of ``CYCLEWATCH=1``, the callback uses that
    watch, ignores `settings` and does not stop the watch. If a trainer has several of these
    callbacks, only the first one does anything.

    Args:
        log_metrics: Pass the metrics to the trainer's loggers. They receive nothing if the
            trainer's ``log_every_n_steps`` is 0.
        settings: As for :func:`cyclewatch.warn_tensor_cycles`.
    """

    def __init__(self, *, log_metrics: bool = True, **settings: Any) -> None:
        """Store the settings; the watch starts with the training."""
        super().__init__()
        self._log_metrics = log_metrics
        self._run = TrainingWatch(settings)
        self._unlogged: int | None = None  # the last batch, if its metrics have not been logged

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Start the watch if `stage` is "fit"."""
        # The program's own callback comes before that of the entry point.
        same = (each for each in trainer.callbacks if isinstance(each, CycleWatchCallback))
        if stage == "fit" and next(same, self) is self:
            self._run.start(Training(trainer))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Set the step of the watch, and log the metrics if the trainer will log its values."""
        self._run.step(trainer.global_step)
        interval = trainer.log_every_n_steps
        if not self._log_metrics or interval == 0:
            return
        # As in Lightning's _LoggerConnector, which has no hook.
        number = self._unlogged = _batch_number(trainer)
        is_due = (number + 1) % interval == 0 or trainer.should_stop
        if is_due and not (pl_module.automatic_optimization and _accumulates(trainer)):
            self._log(trainer)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Stop the watch if `stage` is "fit"."""
        if stage == "fit":
            self._end(trainer, None)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the metrics of the last batch before the loggers are closed."""
        self._log(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stop the watch, because Lightning does not call teardown() in this case."""
        self._end(trainer, exception)

    def _end(self, trainer: Any, error: BaseException | None) -> None:
        self._run.finish(Training(trainer), error)
        # The trainer sets these methods of the model. They would keep the model and the trainer
        # alive, in a cycle with this callback.
        self.__dict__.pop("log", None)
        self.__dict__.pop("log_dict", None)

    def _log(self, trainer: Any) -> None:
        number, self._unlogged = self._unlogged, None
        if number is not None and self._run.is_active:
            metrics = self._run.metrics()
            for logger in trainer.loggers:
                logger.log_metrics(metrics, step=number)


# The next two functions read private attributes of Lightning 2. Without them, the metrics are
# logged at other steps than the trainer's values.


def _batch_number(trainer: Any) -> int:
    """The number with which the trainer logs the values of the last batch.

    Unlike global_step, it begins at 0, and counts a batch with several optimizers once.
    """
    epoch = getattr(getattr(trainer, "fit_loop", None), "epoch_loop", None)
    number: int = getattr(epoch, "_batches_that_stepped", trainer.global_step)
    return number


def _accumulates(trainer: Any) -> bool:
    """Whether the last batch ended without a step of the optimizer."""
    accumulates = getattr(getattr(trainer, "fit_loop", None), "_should_accumulate", None)
    return accumulates is not None and bool(accumulates())


class FabricCallback:
    """Passes the number of optimizer steps to the watch of a program that uses Lightning Fabric.

    Fabric has no hook for the start of the training, so this callback starts no watch: start one
    with :func:`cyclewatch.warn_tensor_cycles` or ``CYCLEWATCH=1``. If there are several optimizers,
    the steps of the one that steps most often are counted: of the first one, until another one
    steps twice in between, for example in the next phase of the training. If Fabric has several of
    these callbacks, only the first one counts.
    """

    # By optimizer: the callback that was called first.
    _first: WeakKeyDictionary[Any, FabricCallback] = WeakKeyDictionary()

    def __init__(self) -> None:
        """Count from zero."""
        self._steps = 0
        self._counted: int | None = None  # id of the optimizer
        self._others: set[int] = set()  # those that have stepped since then

    def on_after_optimizer_step(self, strategy: Any, optimizer: Any) -> None:
        """Count a step, and set the step of the watch."""
        try:
            first = self._first.setdefault(optimizer, self)
        except TypeError:  # without weak references
            first = self
        if first is not self:
            return
        stepped = id(optimizer)
        if self._counted not in (None, stepped) and stepped not in self._others:
            self._others.add(stepped)
            return
        self._counted = stepped
        self._others.clear()
        self._steps += 1
        watch = active_watch()
        if watch is not None:
            watch.step(self._steps)
