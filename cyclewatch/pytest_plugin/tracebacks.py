# SPDX-License-Identifier: Apache-2.0
"""Lets go of what a failed test's exception keeps alive."""

from __future__ import annotations

import contextlib
import inspect
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

# Where the interpreter and pytest keep the last exception for a post-mortem.
_LAST = ("last_exc", "last_type", "last_value", "last_traceback")


def forget_last_exception() -> None:
    """Drop the last failed test's exception, as pytest itself does when the next test is called."""
    for name in _LAST:
        if hasattr(sys, name):
            delattr(sys, name)


def clear_frames(exceptions: Iterable[BaseException]) -> None:
    """Empty the frames of `exceptions`, of their causes and contexts, and of groups' members.

    A frame that is still running stays as it is. The exceptions and the line numbers in their
    tracebacks stay, so that what is printed of them does not change.
    """
    waiting: list[BaseException | None] = list(exceptions)
    seen: set[int] = set()
    while waiting:
        exception = waiting.pop()
        if exception is None or id(exception) in seen:
            continue
        seen.add(id(exception))
        _clear(exception.__traceback__)
        waiting += [exception.__cause__, exception.__context__]
        if isinstance(exception, BaseExceptionGroup):
            waiting += exception.exceptions


def _clear(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame = traceback.tb_frame
        with contextlib.suppress(RuntimeError):
            frame.clear()
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                # Before 3.13 whoever asked for the locals (pytest does) left a copy in the frame;
                # asking again brings it up to date.
                _ = frame.f_locals
        traceback = traceback.tb_next
