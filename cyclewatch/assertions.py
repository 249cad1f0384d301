# SPDX-License-Identifier: Apache-2.0
"""The assertion that a block of code makes no tensor cycles, for any test framework."""

from __future__ import annotations

from cyclewatch.collecting import collect
from cyclewatch.errors import TensorCycleError
from cyclewatch.watches import watch
from cyclewatch.wording import failure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from cyclewatch._native import Finding
    from cyclewatch.watches import Watch

# Called with the findings of each error, in the thread that is about to raise it, so that a test
# runner which checks tests itself does not report the same findings twice.
listeners: list[Callable[[Sequence[Finding]], None]] = []


class assert_no_tensor_cycles:  # noqa: N801 - used as a function is, like contextlib's own
    """Raise :class:`TensorCycleError` if the block leaves cycles that keep tensors alive.

    ``with cyclewatch.assert_no_tensor_cycles(): step()`` collects garbage before the block, so
    that older garbage is not blamed on it, and after it. What a variable outside of ``step()``
    still refers to at the end is alive and not checked. If the block raises, its exception goes
    on and nothing is checked: the traceback keeps the block's variables alive.

    Under the pytest plugin a test that catches the error is not failed again for the same cycles.

    The ``with`` gives the :class:`Watch`, whose report holds what was found. Findings that are
    known and accepted (see ``Finding.status``) do not raise.

    Args:
        devices: As in :func:`warn_tensor_cycles`.
        min_bytes: Findings that held fewer bytes do not count.
    """

    def __init__(self, *, devices: str | Iterable[str] = "auto", min_bytes: int = 0) -> None:
        """Remember what to look for; the block begins with the ``with``."""
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
        # Where pytest shows a traceback it then ends at the `with`; to others it is a name.
        __tracebackhide__ = True
        if exception is None:
            # Puts our entry in gc.callbacks back if the block took it out.
            _ = self._watch.stats
            collect()
        self._watch.stop()
        if exception is not None:
            return
        findings = [one for one in self._watch.report().findings if one.status == "new"]
        if findings:
            for listener in listeners:
                listener(findings)
            raise TensorCycleError(failure_text(findings), findings)
