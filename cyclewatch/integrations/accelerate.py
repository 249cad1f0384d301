# SPDX-License-Identifier: Apache-2.0
"""A watch for training loops that use Hugging Face Accelerate."""

from __future__ import annotations

from cyclewatch.integrations.training_watch import Training, TrainingWatch
from cyclewatch.settings.arguments import integer_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class CycleWatch:
    """Watches for reference cycles that keep tensors alive while a ``with`` block runs.

    Passes :func:`cyclewatch.metrics` to ``accelerator.log()``, and so to the trackers of the main
    process. When the block ends, logs one line with the path of the report::

        with CycleWatch(accelerator, report_dir="reports") as watch:
            for step, batch in enumerate(loader):
                ...
                watch.step(step)

    If a watch is already active, for example because of ``CYCLEWATCH=1``, that watch is used,
    `settings` are ignored, and the watch is not stopped.

    Args:
        accelerator: The program's ``accelerate.Accelerator``.
        log_every: Number of calls to :meth:`step` between two calls to ``accelerator.log()``; 0
            logs no metrics.
        settings: As for :func:`cyclewatch.warn_tensor_cycles`.

    Raises:
        TypeError: `log_every` is not an integer.
        ValueError: `log_every` is negative.
    """

    def __init__(self, accelerator: Any, *, log_every: int = 50, **settings: Any) -> None:
        """Store the settings; the watch starts with the block."""
        self._accelerator = accelerator
        self._log_every = integer_in("log_every", log_every, 0)
        self._run = TrainingWatch(settings)
        self._calls = 0
        self._blocks: list[object] = []  # more than one if the block contains itself

    def step(self, number: int) -> None:
        """Set the step of the watch (:meth:`cyclewatch.Watch.step`), and log metrics if due."""
        self._run.step(number)
        self._calls += 1
        if self._log_every and self._calls % self._log_every == 0:
            self._accelerator.log(self._run.metrics(), step=number)

    def __enter__(self) -> CycleWatch:
        block = object()
        self._run.start(Training(block))
        self._blocks.append(block)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._run.finish(Training(self._blocks.pop()), exception)
