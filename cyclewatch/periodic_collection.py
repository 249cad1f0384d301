# SPDX-License-Identifier: Apache-2.0
"""Collects garbage at fixed training steps, which are the same on every rank."""

from __future__ import annotations

import gc
import os
import sys
import time

from cyclewatch import _native
from cyclewatch.arguments import integer_in
from cyclewatch.finding_warnings import log
from cyclewatch.scanning import has_dead_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

_INFO = 20  # logging.INFO


class collect_at:  # noqa: N801 - used like a function
    """Disable automatic collection, and collect at fixed training steps instead.

    Ranks that collect at different steps wait for each other. This class collects at the same steps
    on every rank. By default it collects only the younger generations, which is fast. It has the
    methods of torchtitan's ``GarbageCollection``::

        collector = cyclewatch.collect_at(every=50)
        for step, batch in enumerate(batches, start=1):
            collector.run(step)
            train_step(batch)
        collector.close()

    The constructor calls ``gc.disable()`` and collects once. :meth:`close` enables automatic
    collection again if it was enabled before; ``with cyclewatch.collect_at() as collector:`` does
    so on exit.

    With ``skip_if_clean=True``, a collection is skipped if a scan finds no dead tensor in the
    generations to collect. In that case, garbage without tensors is not collected either. If there
    are several ranks, either all of them skip the collection or none does. They agree through an
    ``all_reduce`` over `group`. Without a group that supports CPU tensors, collections are skipped
    only if there is one rank.

    Args:
        every: Collect at the steps that are multiples of this number, except step 1.
        generation: The oldest generation to collect, 0 to 2.
        skip_if_clean: Skip collections that would free no tensor memory.
        group: A process group that contains all ranks and supports CPU tensors, such as a gloo
            group. If omitted, the default process group is used, provided that it supports CPU
            tensors.

    Raises:
        TypeError: `every` or `generation` is not an integer.
        ValueError: `every` is less than 1, `generation` is out of range, or `group` does not
            support CPU tensors.

    Examples:
        >>> with cyclewatch.collect_at(every=2) as collector:
        ...     [step for step in range(1, 7) if collector.run(step)]
        [2, 4, 6]
    """

    def __init__(
        self,
        every: int = 50,
        generation: int = 1,
        *,
        skip_if_clean: bool = False,
        group: Any = None,
    ) -> None:
        """Disable automatic collection and collect once."""
        self._every = integer_in("every", every, 1)
        self._generation = integer_in("generation", generation, 0, 2)
        if group is not None and not _supports_cpu(group):
            raise ValueError(
                "group must support CPU tensors; use torch.distributed.new_group(backend='gloo')"
            )
        self._skip_if_clean = skip_if_clean
        self._group = group
        self._enable = gc.isenabled()
        gc.disable()
        self.collect("initial collection", self._generation)

    def run(self, step: int) -> bool:
        """Collect if a collection is due.

        Call this method in every step, with the same step number on every rank. Watches record the
        step number, as with :meth:`Watch.step`.

        Returns:
            Whether a collection ran.

        Examples:
            >>> collector = cyclewatch.collect_at(every=50)
            >>> collector.run(50)
            True
        """
        if isinstance(step, int) and 0 <= step < 2**63:
            _native.note_step(step, False)
        if step <= 1 or step % self._every:
            return False
        if self._skip_if_clean and self._all_ranks_are_clean():
            return False
        self.collect("periodic collection", self._generation)
        return True

    @staticmethod
    def collect(reason: str, generation: int = 1) -> None:
        """Collect now, and log `reason` and the duration at level INFO.

        Examples:
            >>> cyclewatch.collect_at.collect("before the checkpoint")
        """
        started = time.monotonic()
        gc.collect(generation)
        log(_INFO, f"{reason}: generation {generation}, {time.monotonic() - started:.3f} s")

    def close(self) -> None:
        """Enable automatic collection if it was enabled before. Idempotent.

        Examples:
            >>> collector = cyclewatch.collect_at()
            >>> collector.close()
            >>> gc.isenabled()
            True
        """
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

    def _all_ranks_are_clean(self) -> bool:
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
            # torchrun sets WORLD_SIZE before the program creates its process group.
            is_only_rank = os.environ.get("WORLD_SIZE", "1") == "1"
            return is_only_rank and not self._has_dead_tensors()
        if self._group is None and not _supports_cpu(None):
            return distributed.get_world_size() == 1 and not self._has_dead_tensors()
        # Every rank takes part, regardless of its own result.
        torch = sys.modules["torch"]
        dirty = torch.tensor([int(self._has_dead_tensors())], device="cpu")
        distributed.all_reduce(dirty, op=distributed.ReduceOp.MAX, group=self._group)
        return not dirty.item()

    def _has_dead_tensors(self) -> bool:
        try:
            return has_dead_tensors(self._generation)
        except (MemoryError, RuntimeError):
            return True  # unknown: collect


def _supports_cpu(group: Any) -> bool:
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        return distributed is not None and "cpu:" in distributed.get_backend_config(group)
    except (TypeError, ValueError):  # not a process group
        return False
