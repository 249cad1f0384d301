# SPDX-License-Identifier: Apache-2.0
"""Collections at fixed training steps, the same ones on every rank."""

from __future__ import annotations

import gc
import operator
import time

from cyclewatch.watches import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_INFO = 20  # logging.INFO


class collect_at:  # noqa: N801 - used like a function
    """Disable automatic collection, and collect at fixed training steps instead.

    Ranks that collect at different steps wait for each other. This class collects at the same
    steps on every rank, and only the younger generations by default, whose collection is fast. It
    is a drop-in replacement for torchtitan's ``GarbageCollection``::

        collector = cyclewatch.collect_at(every=50)
        for step, batch in enumerate(batches, start=1):
            collector.run(step)
            train_step(batch)
        collector.close()

    The constructor calls ``gc.disable()`` and collects once. :meth:`close` enables automatic
    collection again if it was enabled before; ``with cyclewatch.collect_at() as collector:`` does
    so on exit.

    Args:
        every: Collect at the steps that are multiples of this number, except step 1.
        generation: The oldest generation to collect, 0 to 2.

    Raises:
        TypeError: `every` or `generation` is not an integer.
        ValueError: `every` is less than 1, or `generation` is out of range.
    """

    def __init__(self, every: int = 50, generation: int = 1) -> None:
        """Disable automatic collection and collect once."""
        self._every = operator.index(every)
        self._generation = operator.index(generation)
        if self._every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        if not 0 <= self._generation <= 2:
            raise ValueError(f"generation must be 0, 1 or 2, not {generation}")
        self._enable = gc.isenabled()
        gc.disable()
        self.collect("initial collection", self._generation)

    def run(self, step: int) -> bool:
        """Collect if `step` is due. Call it in every step, with the same number on every rank.

        Returns:
            Whether a collection ran.
        """
        if step <= 1 or step % self._every:
            return False
        self.collect("periodic collection", self._generation)
        return True

    @staticmethod
    def collect(reason: str, generation: int = 1) -> None:
        """Collect now, and log `reason` and the duration at level INFO."""
        started = time.monotonic()
        gc.collect(generation)
        log(_INFO, f"{reason}: generation {generation}, {time.monotonic() - started:.3f} s")

    def close(self) -> None:
        """Enable automatic collection if it was enabled before. Idempotent."""
        if self._enable:
            gc.enable()
        self._enable = False

    def __enter__(self) -> collect_at:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
