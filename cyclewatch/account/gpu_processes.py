# SPDX-License-Identifier: Apache-2.0
"""Asks NVML which processes use a CUDA device, as nvidia-smi does."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def other_processes(uuid: str) -> list[tuple[int, int]] | None:
    """The other processes that use a device: their ids and bytes, the largest first.

    Uses NVML only through a `pynvml` that the program has imported. torch imports it if it is
    installed (package nvidia-ml-py).

    Returns:
        None if unknown: without NVML, if the driver does not say how much a process uses, and in a
        container with process ids of its own, where the device's list does not contain this
        process.
    """
    nvml: Any = sys.modules.get("pynvml")
    try:
        nvml.nvmlInit()
        try:
            device = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            listed = [
                *nvml.nvmlDeviceGetComputeRunningProcesses(device),
                *nvml.nvmlDeviceGetGraphicsRunningProcesses(device),
            ]
        finally:
            nvml.nvmlShutdown()
        # A process that computes and draws is in both lists, with the same total.
        sizes = {int(each.pid): int(each.usedGpuMemory) for each in listed}
    except Exception:  # not imported or another module, no driver, or a size that is None
        return None
    if sizes.pop(os.getpid(), None) is None:
        return None
    return sorted(sizes.items(), key=lambda item: -item[1])


def process_name(pid: int) -> str:
    """The number of a process and, if it can be read, its name."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return f"{pid} ({file.read().strip()})"
    except OSError:
        return str(pid)
