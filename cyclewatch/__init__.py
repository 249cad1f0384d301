# SPDX-License-Identifier: Apache-2.0
"""Names the reference that keeps device memory alive in garbage cycles.

Call :func:`warn_tensor_cycles` once, when the model is made. From then on every garbage
collection that frees tensors tells which reference loop had kept them, how many bytes that were,
and which one reference to cut so that they are freed at once.
"""

from cyclewatch._native import (
    Collection,
    DeviceMemory,
    Finding,
    Owner,
    Pattern,
    Program,
    Reference,
    Report,
    Sighting,
    Stats,
    __version__,
    patterns,
)
from cyclewatch.errors import ReportFormatError, TensorCycleWarning
from cyclewatch.watches import (
    Watch,
    observe_tensor_cycles,
    register_owner,
    unregister_owner,
    warn_tensor_cycles,
    watch,
)

__all__ = [
    "Collection",
    "DeviceMemory",
    "Finding",
    "Owner",
    "Pattern",
    "Program",
    "Reference",
    "Report",
    "ReportFormatError",
    "Sighting",
    "Stats",
    "TensorCycleWarning",
    "Watch",
    "__version__",
    "observe_tensor_cycles",
    "patterns",
    "register_owner",
    "unregister_owner",
    "warn_tensor_cycles",
    "watch",
]
