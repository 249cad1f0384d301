# SPDX-License-Identifier: Apache-2.0
"""Finds the call stacks that allocated live tensors."""

from __future__ import annotations

import sys

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any


def allocation_context(is_tensor: Callable[[Any], bool]) -> Callable[[Any], str | None]:
    """See :func:`cyclewatch.compat.torch_cycles.cuda_allocation_context`."""
    stacks = _active_stacks()

    def context(obj: Any) -> str | None:
        if not is_tensor(obj):
            return None
        torch = sys.modules["torch"]
        with torch._C.DisableTorchFunctionSubclass():
            try:
                address = torch.Tensor.untyped_storage(obj).data_ptr()
            except (RuntimeError, NotImplementedError):  # sparse tensors have no storage
                address = 0
        return stacks.get(address) or "\n".join(_native.allocation_stack(obj)) or None

    return context


def _active_stacks() -> dict[int, str]:
    """The call stacks of torch's allocated blocks, by address."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    stacks = {}
    for segment in torch.cuda.memory._snapshot()["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated" and (text := "\n".join(_frames(block))):
                stacks[block.get("address", address)] = text
            address += block["size"]
    return stacks


def _frames(block: Mapping[str, Any]) -> Iterator[str]:
    frames = block.get("frames") or next(
        (entry["frames"] for entry in block.get("history", ()) if entry.get("frames")), ()
    )
    for frame in frames:
        yield f"{frame['filename']}:{frame['line']}:{frame['name']}"
