# SPDX-License-Identifier: Apache-2.0
"""Measures the time and memory used to report a million unreachable objects and 1,000 owners."""

from __future__ import annotations

import gc
import logging
import resource
import tempfile
import time
import warnings
from collections.abc import Callable

from measure import Figure, in_child, main
from workloads import Block, drop_rings, read_block

import cyclewatch

SHAPES = {False: "1000 cycles of 1000", True: "one component"}


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def owner_maker(owners: str) -> Callable[[int], object]:
    if owners == "registered":
        cyclewatch.register_owner(Block, read_block)
        return lambda number: Block(4096 * number)
    import torch

    return lambda number: torch.zeros(256)


def child(
    owners: str, tied: bool, watched: bool, rings: int, length: int
) -> dict[str, float | list[float]]:
    """Collect garbage of three different structures; each collection yields a new finding.

    The first collection is measured separately, because its capture needs new memory pages.
    """
    gc.disable()
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    make_owner = owner_maker(owners)
    gc.collect()
    with tempfile.TemporaryDirectory() as folder:
        watch = (
            cyclewatch.warn_tensor_cycles(devices=("cpu",), report_dir=folder, budget=1.0)
            if watched
            else None
        )
        figures: dict[str, list[float]] = {"seconds": [], "own": []}
        for number in range(3):
            drop_rings(rings, length + number, make_owner, tied=tied)
            peak_before = peak_bytes()
            began = time.perf_counter()
            gc.collect()
            figures["seconds"].append(time.perf_counter() - began)
            figures.setdefault("bytes", [peak_bytes() - peak_before])
            if watch is None:
                continue
            watch._native_watch.flush(60)
            stats = watch.stats
            figures["own"].append(stats.seconds - sum(figures["own"]))
            expected = rings * (number + 1)
            if stats.owners != expected or not watch._native_watch.report_paths():
                raise AssertionError(f"{stats.owners} owners reported instead of {expected}")
            figures.setdefault("on_disk", [time.perf_counter() - began])
            figures.setdefault("unreachable", [stats.unreachable])
    return dict(figures)


def measure_shape(owners: str, tied: bool, quick: bool) -> list[Figure]:
    rings, length = (100, 100) if quick else (1000, 1000)
    rounds = 2 if quick else 5
    first: list[float] = []
    later: list[float] = []
    added: list[float] = []
    memory: list[float] = []
    on_disk: list[float] = []
    for _ in range(rounds):
        off, on = (
            {key: value for key, value in answer.items() if isinstance(value, list)}
            for answer in (
                in_child(
                    __file__, owners=owners, tied=tied, watched=watched, rings=rings, length=length
                )
                for watched in (False, True)
            )
        )
        shares = [own / without for own, without in zip(on["own"], off["seconds"], strict=True)]
        first.append(shares[0])
        later += shares[1:]
        added.append((on["seconds"][0] - off["seconds"][0]) / off["seconds"][0])
        memory.append((on["bytes"][0] - off["bytes"][0]) / on["unreachable"][0])
        on_disk += on["on_disk"]
    what = f"{SHAPES[tied]}, {owners} owners"
    return [
        Figure(f"{what}: capture and analysis / collection without watch", "ratio", later, 0.5),
        Figure(f"{what}: the same in the first collection of a process", "ratio", first, None),
        Figure(f"{what}: added wall time / collection", "ratio", added, 1.0),
        Figure(f"{what}: extra memory per unreachable object", "bytes", memory, 32),
        Figure(f"{what}: until the report is on disk", "s", on_disk, 5),
    ]


def measure(quick: bool) -> list[Figure]:
    figures = []
    for owners in ("registered", "torch"):
        for tied in (False, True):
            figures += measure_shape(owners, tied, quick)
    return figures


if __name__ == "__main__":
    main(measure, child)
