# SPDX-License-Identifier: Apache-2.0
"""Writes snapshots of torch's allocator that contain the Python owner of each block."""

from __future__ import annotations

import gc

from cyclewatch import _native
from cyclewatch.code_roots import update_roots
from cyclewatch.oom_errors import torch_module
from cyclewatch.scanning import scan_storages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

_CUDA = "cuda:"


def dump_snapshot(path: str | os.PathLike[str] = "snapshot.pickle") -> None:
    """Write torch's memory snapshot to a file, with the Python owner of each block.

    Like ``torch.cuda.memory._dump_snapshot()``, whose file shows which calls allocated the blocks,
    but not what keeps them alive. This function adds that: the path to each reachable tensor, and
    the cycle and the reference to cut for each unreachable tensor. ``cyclewatch snapshot`` shows
    both; torch's own viewer can read the file, too, and ignores the owners::

        torch.cuda.memory._record_memory_history(stacks="python")
        train()
        cyclewatch.dump_snapshot("snapshot.pickle")

    The owners are those at the time of the call. Nothing is freed, and no code of the program runs
    except readers registered with :func:`register_owner`. Takes about as long as four collections,
    and as long as torch needs for its snapshot. Other threads should not allocate device memory
    meanwhile. A block that they allocate or free has no owner in the file, or no block.

    Args:
        path: The file, which is replaced if it exists.

    Raises:
        RuntimeError: The program has not initialized CUDA with torch; or as in :func:`scan`.
        OSError: The file cannot be written.
        MemoryError: As in :func:`scan`.

    Examples:
        >>> cyclewatch.dump_snapshot("snapshot.pickle")
        Traceback (most recent call last):
        ...
        RuntimeError: the program has not initialized CUDA with torch
    """
    _native.write_file(path, snapshot_with_owners(), replace=True)


def snapshot_with_owners() -> bytes:
    """The contents of the file that :func:`dump_snapshot` writes."""
    import pickle

    from cyclewatch.snapshots.owners import KEY

    torch: Any = torch_module()
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        raise RuntimeError("the program has not initialized CUDA with torch")
    collects = gc.isenabled()
    gc.disable()  # the dicts of the snapshot would cause a collection, which frees dead tensors
    try:
        owners = owners_of_blocks()
        take = getattr(cuda.memory, "_snapshot", None)
        snapshot = {"segments": cuda.memory_snapshot()} if take is None else dict(take())
        return pickle.dumps({**snapshot, KEY: owners})
    finally:
        if collects:
            gc.enable()


def owners_of_blocks() -> dict[str, list[dict[str, object]]]:
    """The owners of all storages on CUDA devices, and the findings for the unreachable ones.

    Only dicts, lists, strings and numbers, which :class:`cyclewatch.snapshots.owners.Owners` reads.
    """
    from cyclewatch.snapshots.owners import DEAD, FROZEN, REACHABLE

    update_roots()
    report, dead = scan_storages(["cuda"])
    states = {"never": FROZEN}
    owners: list[dict[str, object]] = [
        _owner(device, address, states.get(collected, DEAD), signature=min(signatures, default=""))
        for device, address, _, collected, signatures in dead
    ]
    owners += [
        _owner(device, address, REACHABLE, type=kind, category=category, path=path)
        for device, address, _, kind, category, path in _native.owned_storages(["cuda"])
    ]
    findings: list[dict[str, object]] = [
        {"signature": signature, "remedy": each.remedy}
        for each in report.findings
        for signature in each.signatures
    ]
    return {"owners": owners, "findings": findings}


def _owner(device: str, address: int, state: str, **known: str) -> dict[str, object]:
    facts = {"type": "", "category": "", "path": "", "signature": "", **known}
    index = int(device.removeprefix(_CUDA))
    return {"device": index, "address": address, "state": state, **facts}
