# SPDX-License-Identifier: Apache-2.0
"""Asserts, under any test framework, that a block of code does not create tensor cycles."""

from __future__ import annotations

from cyclewatch.errors import TensorCycleError
from cyclewatch.heap.collecting import collect
from cyclewatch.watching.watches import watch
from cyclewatch.wording import failure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from cyclewatch._native import Finding
    from cyclewatch.watching.watches import Watch

# Called with the findings of each error, on the thread that raises the error, so that the pytest
# plugin does not report these findings again.
listeners: list[Callable[[Sequence[Finding]], None]] = []


class assert_no_tensor_cycles:  # noqa: N801 - used like a function, as in contextlib
    """Context manager that raises :class:`TensorCycleError` if its block creates tensor cycles.

    Collects garbage before and after the block. The first collection prevents older garbage from
    being attributed to the block. Objects that are still referenced from outside the block are not
    checked. If the block raises, no check is made, because the traceback keeps the block's
    variables alive.

    ``with ... as watch`` binds the :class:`Watch`, whose report contains all findings. The error is
    raised only for findings with the status "new". If a test catches the error, the pytest plugin
    does not fail the test for the same cycles.

    Args:
        devices: As in :func:`warn_tensor_cycles`.
        min_bytes: Ignore findings that retain fewer bytes than this.

    Raises:
        TensorCycleError: On exit, if there are new findings.
        ValueError: On entry, if an argument is invalid.

    Examples:
        >>> with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        ...     train()
        Traceback (most recent call last):
            ...
        cyclewatch.errors.TensorCycleError: Trainer.hook -> ... keeps 4.0 KiB
        ...
    """

    def __init__(self, *, devices: str | Iterable[str] = "auto", min_bytes: int = 0) -> None:
        """Store the arguments; checking begins with the ``with`` block."""
        self._devices = devices
        self._min_bytes = min_bytes

    def __enter__(self) -> Watch:
        collect()
        self._watch = watch(devices=self._devices, min_bytes=self._min_bytes, budget=1.0)
        return self._watch

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True  # pytest's tracebacks end at the `with`
        if exception is None:
            # Reading the statistics restores our entry in gc.callbacks if the block removed it.
            _ = self._watch.stats
            collect()
        self._watch.stop()
        if exception is not None:
            return
        findings = [each for each in self._watch.report().findings if each.status == "new"]
        if findings:
            for listener in listeners:
                listener(findings)
            raise TensorCycleError(failure_text(findings), findings)
