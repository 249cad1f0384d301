# SPDX-License-Identifier: Apache-2.0
"""How much of the memory is in use, cheap enough for each training step."""

from __future__ import annotations

import os
import sys

from cyclewatch.account.device_use import torch_use
from cyclewatch.account.measurement import process_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def used_share() -> float:
    """The share of the current CUDA device that torch has allocated, or else of the CPU's memory.

    Makes no call to the device. Memory that torch has reserved but does not use counts as free.
    """
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        device = cuda.current_device()
        use = torch_use(device)
        capacity = cuda.get_device_properties(device).total_memory
        return 0.0 if use is None else use.allocated / capacity
    in_use, limit, _ = process_memory()
    return in_use / (limit or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
