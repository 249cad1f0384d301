# SPDX-License-Identifier: Apache-2.0
"""Passes the training step to Python code that depends on it."""

from __future__ import annotations

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Each is called with the number, and whether cyclewatch counted the step because the program does
# not set a number.
listeners: list[Callable[[int, bool], None]] = []


def note(number: int, *, counted: bool) -> None:
    """Store the step for all watches, and call the listeners."""
    _native.note_step(number, counted)
    notify(number, counted=counted)


def notify(number: int, *, counted: bool) -> None:
    """Call the listeners."""
    for listener in tuple(listeners):
        listener(number, counted)
