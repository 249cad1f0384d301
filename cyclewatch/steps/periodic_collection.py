# SPDX-License-Identifier: Apache-2.0
"""Collects garbage at training steps that are the same on every rank."""

from __future__ import annotations

import gc
import os
import sys
import time

from cyclewatch.heap.scanning import dead_bytes, has_dead_tensors
from cyclewatch.settings.arguments import integer_in
from cyclewatch.steps.memory_pressure import used_share
from cyclewatch.watching.finding_warnings import log
from cyclewatch.watching.step_numbers import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

_INFO = 20  # logging.INFO
_WARNING = 30
# Why to collect. The ranks agree on the largest number; 0 is not to collect.
_DEAD, _PERIODIC, _PRESSURE = 1, 2, 3
_REASONS = {
    _DEAD: "collection of dead tensors",
    _PERIODIC: "periodic collection",
    _PRESSURE: "collection at high memory use",
}


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

    `pressure` and `dead_bytes` add collections between these steps, also agreed upon by all ranks:
    if one rank needs a collection, every rank collects. CPython's own collector does not know the
    memory of a device, so it does not run when the device is nearly full. With either argument, the
    ranks exchange one number in each step. If they have no group for that, these collections are
    left out, and a warning is logged once.

    Args:
        every: Collect at the steps that are multiples of this number, except step 1.
        generation: The oldest generation to collect, 0 to 2.
        skip_if_clean: Skip collections that would free no tensor memory.
        pressure: Also collect all generations if at least this share of the memory is in use, such
            as 0.9. On a CUDA device, the share is what torch has allocated of the capacity of the
            current device; otherwise, what the process uses of ``RLIMIT_AS`` or of the machine's
            memory. If a collection does not bring the use below this share, the next one for this
            reason runs after `every` steps.
        dead_bytes: Also collect if the dead tensors in the generations to collect have at least
            this number of bytes. A scan in each step counts them, which takes about as long as a
            collection of these generations. Includes the activations that only the autograd graph
            of a dead loss keeps.
        group: A process group that contains all ranks and supports CPU tensors, such as a gloo
            group. If omitted, the default process group is used, provided that it supports CPU
            tensors.

    Raises:
        TypeError: `every`, `generation` or `dead_bytes` is not an integer.
        ValueError: `every` or `dead_bytes` is less than 1, `generation` is out of range, `pressure`
            is not above 0 and below 1, or `group` does not support CPU tensors.

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
        pressure: float | None = None,
        dead_bytes: int | None = None,
        group: Any = None,
    ) -> None:
        """Disable automatic collection and collect once."""
        self._every = integer_in("every", every, 1)
        self._generation = integer_in("generation", generation, 0, 2)
        if group is not None and not _supports_cpu(group):
            raise ValueError(
                "group must support CPU tensors; use torch.distributed.new_group(backend='gloo')"
            )
        if pressure is not None and not (isinstance(pressure, (int, float)) and 0 < pressure < 1):
            raise ValueError(f"pressure must be a number above 0 and below 1, not {pressure!r}")
        if dead_bytes is not None:
            dead_bytes = integer_in("dead_bytes", dead_bytes, 1)
        self._skip_if_clean = skip_if_clean
        self._pressure, self._dead_bytes = pressure, dead_bytes
        self._next_pressure_step = 0
        self._has_warned = False
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
            note(step, counted=False)
        if step <= 1:
            return False
        wanted = self._agreed(step)
        if wanted:
            generation = 2 if wanted == _PRESSURE else self._generation
            self.collect(_REASONS[wanted], generation)
        if wanted == _PRESSURE and self._is_under_pressure():
            self._next_pressure_step = step + self._every
        return wanted > 0

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

    def _agreed(self, step: int) -> int:
        """Why all ranks collect at this step; 0 if they do not."""
        is_due = step % self._every == 0
        always = _PERIODIC if is_due else 0  # without an agreement
        has_triggers = self._pressure is not None or self._dead_bytes is not None
        if not has_triggers and not (is_due and self._skip_if_clean):
            return always
        ranks = self._ranks()
        if ranks == 1:
            return self._wanted(step, is_due)
        if ranks == 0:
            if has_triggers and not self._has_warned and _is_distributed():
                self._has_warned = True
                log(
                    _WARNING,
                    "collect_at() ignores pressure and dead_bytes, because the ranks have no "
                    "process group that supports CPU tensors; pass "
                    "group=torch.distributed.new_group(backend='gloo').",
                )
            return always
        # Every rank takes part, regardless of its own result.
        torch, distributed = sys.modules["torch"], sys.modules["torch.distributed"]
        wanted = torch.tensor([self._wanted(step, is_due)], device="cpu")
        distributed.all_reduce(wanted, op=distributed.ReduceOp.MAX, group=self._group)
        return int(wanted.item())

    def _ranks(self) -> int:
        """The number of ranks; 0 if there are several that cannot agree."""
        if not _is_distributed():
            # torchrun sets WORLD_SIZE before the program creates its process group.
            return 1 if os.environ.get("WORLD_SIZE", "1") == "1" else 0
        ranks = int(sys.modules["torch.distributed"].get_world_size())
        can_agree = self._group is not None or _supports_cpu(None)
        return ranks if can_agree or ranks == 1 else 0

    def _wanted(self, step: int, is_due: bool) -> int:
        """Why this rank wants to collect."""
        if step >= self._next_pressure_step and self._is_under_pressure():
            return _PRESSURE
        if is_due and not (self._skip_if_clean and not self._has_dead_tensors()):
            return _PERIODIC
        return _DEAD if self._has_many_dead_bytes() else 0

    def _is_under_pressure(self) -> bool:
        return self._pressure is not None and used_share() >= self._pressure

    def _has_many_dead_bytes(self) -> bool:
        if self._dead_bytes is None:
            return False
        try:
            dead = dead_bytes(generation=self._generation, frozen=False)
        except (MemoryError, RuntimeError):
            return False  # unknown; the periodic collection frees them
        return sum(dead.values()) >= self._dead_bytes

    def _has_dead_tensors(self) -> bool:
        try:
            return has_dead_tensors(self._generation)
        except (MemoryError, RuntimeError):
            return True  # unknown: collect


def _is_distributed() -> bool:
    """Whether the program has created its default process group."""
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def _supports_cpu(group: Any) -> bool:
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        return distributed is not None and "cpu:" in distributed.get_backend_config(group)
    except (TypeError, ValueError):  # not a process group
        return False
