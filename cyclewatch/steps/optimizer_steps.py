# SPDX-License-Identifier: Apache-2.0
"""Counts the optimizer steps of a program that does not set a step number."""

from __future__ import annotations

import gc
import sys

from cyclewatch import _native
from cyclewatch.watching.step_numbers import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULE = "torch.optim.optimizer"


class _StepCounter:
    """The number of completed steps of the first optimizer that completes one.

    A program may use several optimizers in each training step, so only one of them is counted.
    """

    def __init__(self) -> None:
        self._counted: int | None = None  # id of the optimizer
        self._steps = 0

    def on_collection(self, phase: str, _info: dict[str, int]) -> None:
        """Register the hook once torch.optim is imported. An entry of ``gc.callbacks``."""
        if phase == "stop" and hasattr(
            sys.modules.get(_MODULE), "register_optimizer_step_post_hook"
        ):
            gc.callbacks.remove(self.on_collection)
            _native.call_soon(self._attach)

    def _attach(self) -> None:
        sys.modules[_MODULE].register_optimizer_step_post_hook(self._on_step)

    def _on_step(self, optimizer: Any, *_: object) -> None:
        self._counted = self._counted or id(optimizer)
        if self._counted == id(optimizer):
            self._steps += 1
            note(self._steps, counted=True)


def count_optimizer_steps() -> None:
    """Set the step of the watches to the number of completed optimizer steps.

    The hook is registered in the first collection after ``torch.optim`` has been imported; the
    import itself causes collections. A step number that the program sets takes precedence.
    """
    _native.note_step(0, True)
    gc.callbacks.append(_StepCounter().on_collection)
