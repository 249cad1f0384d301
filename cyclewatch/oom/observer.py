# SPDX-License-Identifier: Apache-2.0
"""Examines failed allocations of torch's CUDA allocator, at most once per second.

The observer itself is written in C++ (src/watch/oom_observer.h). It can be attached only after the
program has initialized CUDA. Therefore cyclewatch tries to attach it when an ``oom_autopsy()``
block or a step begins, and after each collection.
"""

from __future__ import annotations

import time

from cyclewatch import _native
from cyclewatch.account.measurement import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE = 1.0  # seconds between two examinations
_next = 0.0  # no examination before this time


def start(handler: Callable[[Memory], None]) -> None:
    """Call `handler` with the memory use at each examined failure, on the allocating thread."""

    def on_failure(device: int, requested: int, limit: int) -> None:
        # The examination takes about twice as long as a full collection.
        global _next
        if time.monotonic() >= _next:
            handler(Memory(f"cuda:{device}", requested, limit, in_allocation=True))
            _next = time.monotonic() + _PAUSE

    _native.set_oom_handler(on_failure)
    _native.attach_oom_observer()


def stop() -> None:
    """Ignore further failures. The observer remains attached, because torch cannot detach it."""
    _native.set_oom_handler(None)
