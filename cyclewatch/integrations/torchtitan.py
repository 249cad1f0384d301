# SPDX-License-Identifier: Apache-2.0
"""A replacement for torchtitan's ``GarbageCollection``, with a watch."""

from __future__ import annotations

from cyclewatch.integrations.training_watch import Training, TrainingWatch
from cyclewatch.settings.arguments import integer_in
from cyclewatch.steps.periodic_collection import collect_at


class GarbageCollection(collect_at):
    """Collects garbage at fixed steps, like torchtitan's class, and watches for tensor cycles.

    Has the signature of ``torchtitan.tools.utils.GarbageCollection``, so that a trainer needs only
    another import. :meth:`run` sets the step of the watch, which scans for unreachable tensors,
    because automatic collection is off. The watch warns as :func:`cyclewatch.warn_tensor_cycles`
    does, and lasts until the program ends.

    Args:
        gc_freq: Collect at the steps that are multiples of this number, except step 1.
        debug: Collect all generations in each step. torchtitan's class does so because its detector
            needs these collections; here they only show which collections would have freed tensors.

    Raises:
        TypeError: `gc_freq` is not an integer.
        ValueError: `gc_freq` is less than 1.
    """

    def __init__(self, gc_freq: int = 1000, debug: bool = False) -> None:
        """Start the watch, disable automatic collection and collect once."""
        self.gc_freq = integer_in("gc_freq", gc_freq, 1)
        self.debug = debug
        self._run = TrainingWatch({})
        self._run.start(Training(self))  # observes the first collection, too
        super().__init__(gc_freq, 1)

    def run(self, step_count: int) -> bool:
        """Set the step of the watch, and collect if a collection is due.

        Returns:
            Whether a collection ran.
        """
        self._run.step(step_count)
        if not self.debug:
            return super().run(step_count)
        self.collect("collection for debugging", 2)
        return True

    def close(self) -> None:
        """Stop the watch, and enable automatic collection if it was enabled before. Idempotent."""
        self._run.finish(Training(self))
        super().close()
