# SPDX-License-Identifier: Apache-2.0
"""torch's out-of-memory observer, which is called when an allocation on a CUDA device fails.

It is called on the allocating thread, such as one of autograd, before the exception is raised, with
the exact size, and also for errors that the program handles. torch cannot detach an observer.
"""

from __future__ import annotations

import _thread
import time

from cyclewatch.oom_errors import torch_module
from cyclewatch.oom_memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE = 1.0  # seconds between two examinations

# Called with the memory after each failure that is examined, on the allocating thread; None: the
# observer does nothing.
handler: Callable[[Memory], None] | None = None
_attached = False
_busy = _thread.allocate_lock()
_next = 0.0  # no examination before this time


def attach() -> None:
    """Attach the observer if there is a handler and the program has initialized CUDA. Idempotent.

    Initializes no device.
    """
    global _attached
    if _attached or handler is None:
        return
    torch = torch_module()
    is_initialized = getattr(getattr(torch, "cuda", None), "is_initialized", None)
    # Checked first, because the binding would initialize CUDA.
    if is_initialized is None or not is_initialized():
        return
    register = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if register is not None:
        _attached = True
        register(_on_out_of_memory)


def _on_out_of_memory(device: int, asked: int, limit: int, _free: int) -> None:
    # An exception would replace the out-of-memory error. Calls no device and allocates no device
    # memory; takes about twice as long as a full collection.
    global _next
    try:
        # Not acquired: another thread's failure is being examined, or reading an owner failed.
        if handler is None or not _busy.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= _next:
                handler(Memory(f"cuda:{device}", asked, limit))
                _next = time.monotonic() + _PAUSE
        finally:
            _busy.release()
    except KeyboardInterrupt:
        _thread.interrupt_main()
    except BaseException:
        return
