# SPDX-License-Identifier: Apache-2.0
"""Writes snapshots of torch's allocator that contain the Python owner of each block."""

from __future__ import annotations

import contextlib
import sys

from cyclewatch import _native
from cyclewatch.code.code_roots import update_roots
from cyclewatch.heap.collecting import Pause
from cyclewatch.heap.scanning import scan_storages
from cyclewatch.oom.errors import torch_module
from cyclewatch.watching.memory_recording import is_recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

_CUDA = "cuda:"
_MOST_ANNOTATIONS = 1000  # each may take the place of an older event in torch's history


def dump_snapshot(path: str | os.PathLike[str] = "snapshot.pickle") -> None:
    """Write torch's memory snapshot to a file, with the Python owner of each block.

    Like ``torch.cuda.memory._dump_snapshot()``, whose file shows which calls allocated the blocks,
    but not what keeps them alive. This function adds that: the path to each reachable tensor, and
    the cycle and the reference to cut for each unreachable tensor. ``cyclewatch snapshot`` shows
    both. torch's own viewer can read the file, too. It ignores the owners, but if torch 2.14 or
    newer records its history, the 1,000 largest unreachable tensors have an annotation there, which
    names the cycle and the reference to cut::

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
    with Pause():  # the dicts of the snapshot would cause a collection, which frees dead tensors
        owners = owners_of_blocks()
        _annotate(**owners)
        take = getattr(cuda.memory, "_snapshot", None)
        snapshot = {"segments": cuda.memory_snapshot()} if take is None else dict(take())
        return pickle.dumps({**snapshot, KEY: owners})


def owners_of_blocks() -> dict[str, list[dict[str, Any]]]:
    """The owners of all storages on CUDA devices, and the findings for the unreachable ones.

    Only dicts, lists, strings and numbers, which :class:`cyclewatch.snapshots.owners.Owners` reads.
    The owners of unreachable storages come first, the largest one before the others.
    """
    from cyclewatch.snapshots.owners import DEAD, FROZEN, REACHABLE

    update_roots()
    report, dead = scan_storages(["cuda"])
    states = {"never": FROZEN}
    owners: list[dict[str, Any]] = [
        _owner(device, address, states.get(collected, DEAD), signature=min(signatures, default=""))
        for device, address, _, collected, signatures in sorted(dead, key=lambda each: -each[2])
    ]
    owners += [
        _owner(device, address, REACHABLE, type=kind, category=category, path=path)
        for device, address, _, kind, category, path in _native.owned_storages(["cuda"])
    ]
    findings: list[dict[str, Any]] = [
        {"signature": signature, "remedy": each.remedy}
        for each in report.findings
        for signature in each.signatures
    ]
    return {"owners": owners, "findings": findings}


def _annotate(owners: list[dict[str, Any]], findings: list[dict[str, Any]]) -> None:
    """Add the findings to torch's history as annotations of the unreachable storages.

    Needs only their addresses, so that no tensor gets another reference.
    """
    from cyclewatch.snapshots.owners import REACHABLE, dead_text

    annotate = getattr(sys.modules.get("torch._C"), "_cuda_annotateMemory", None)  # since 2.14
    dead = [each for each in owners if each["state"] != REACHABLE][:_MOST_ANNOTATIONS]
    if annotate is None or not dead or not is_recorded(dead[0]["device"]):
        return
    remedies = {each["signature"]: each["remedy"] for each in findings}
    for each in dead:
        signature = each["signature"]
        words = dead_text(each["state"], signature, remedies.get(signature, ""))
        with contextlib.suppress(Exception):  # memory of another allocator
            annotate(each["address"], f"cyclewatch: {words}")


def _owner(device: str, address: int, state: str, **known: str) -> dict[str, Any]:
    facts = {"type": "", "category": "", "path": "", "signature": "", **known}
    index = int(device.removeprefix(_CUDA))
    return {"device": index, "address": address, "state": state, **facts}
