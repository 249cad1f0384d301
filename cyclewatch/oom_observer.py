# SPDX-License-Identifier: Apache-2.0
"""torch's out-of-memory observer, which is called when an allocation on a CUDA device fails.

torch calls it with the exact size before it raises the exception, and therefore also for errors
that the program handles. The call is made on the allocating thread, which may be an autograd
thread. torch cannot detach an observer.
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

# Called on the allocating thread with the memory use, for each failure that is examined. If it is
# None, the observer does nothing.
handler: Callable[[Memory], None] | None = None
_attached = False
_busy = _thread.allocate_lock()
_next = 0.0  # no examination before this time


def attach() -> None:
    """Attach the observer if there is a handler and the program has initialized CUDA. Idempotent.

    Does not initialize a device.
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


def _on_out_of_memory(device: int, requested: int, limit: int, _free: int) -> None:
    # Must not raise: the exception would replace the out-of-memory error. Does not call a device or
    # allocate device memory. Takes about twice as long as a full collection.
    global _next
    try:
        # The lock is taken if another failure is being examined, perhaps by this thread.
        if handler is None or not _busy.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= _next:
                handler(Memory(f"cuda:{device}", requested, limit))
                _next = time.monotonic() + _PAUSE
        finally:
            _busy.release()
    except KeyboardInterrupt:
        _thread.interrupt_main()
    except BaseException:
        return
