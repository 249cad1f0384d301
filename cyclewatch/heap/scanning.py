# SPDX-License-Identifier: Apache-2.0
"""Finds unreachable tensors without a garbage collection."""

from __future__ import annotations

import _thread
import os

from cyclewatch import _native
from cyclewatch.code.code_roots import update_roots
from cyclewatch.code.source_lines import excerpts
from cyclewatch.proofs.torch_layout import note_search, require_gil, torch_layout
from cyclewatch.settings.arguments import check_boolean, integer_in, names_in
from cyclewatch.settings.configuration import read_configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cyclewatch._native import LiveOwner, Report


_LEAST_BYTES = 1 << 20
last_search_found_nothing = False  # by never_freed(settle=0)
_WARNING = 30  # the level of logging

# While readers run, a scan refers to the objects that it found, so another scan would consider
# them alive.
_lock = _thread.RLock()


def _replace_lock() -> None:
    global _lock
    _lock = _thread.RLock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_replace_lock)


def scan(
    *,
    generation: int = 2,
    frozen: bool = True,
    devices: str | Iterable[str] = "auto",
    source_lines: bool = True,
) -> Report:
    """Report the unreachable reference cycles that keep tensors alive, without a collection.

    Does not need a watch. Nothing is freed, no finalizer or weakref callback runs, and the
    collector's counters do not change. A watch would report the same findings after
    ``gc.collect(generation)``. In the findings of a scan, `collected` is "not yet", or "never" for
    cycles frozen by ``gc.freeze()``, which no collection frees::

        gc.disable()
        train_one_epoch()
        print(cyclewatch.scan().to_text())

    With the default arguments, also finds the cycles that lead through the elements of NumPy arrays
    (or pandas columns) of objects. No collection frees them; their `collected` is "uncollectable".

    Takes about as long as ``gc.collect(generation)``, or two to three times as long if NumPy is
    imported and the default arguments are used. Weakref callbacks and finalizers do not run, so an
    object that one of them would resurrect is considered unreachable.

    Memory is considered alive if a C++ object also refers to it. If tensors of the cycles have
    autograd graphs, `unowned_bytes` is what only these graphs keep. The scan then takes about twice
    as long, and torch creates Python objects for the nodes of the graphs.

    On a free-threaded build, the other threads are stopped during the search, and `generation` has
    no effect. Frozen objects are not examined on a free-threaded build, and the objects that they
    refer to are considered alive.

    Args:
        generation: Examine this generation and all younger ones: 0, 1 or 2.
        frozen: Also examine the objects frozen by ``gc.freeze()``.
        devices: As in :func:`warn_tensor_cycles`.
        source_lines: As in :func:`warn_tensor_cycles`.

    Returns:
        A report that covers only this scan.

    Raises:
        ValueError: An argument is invalid.
        TypeError: `devices` has the wrong type.
        RuntimeError: On a free-threaded build, every attempt failed because other threads
            created objects.
        MemoryError: There is not enough memory for the scan, which needs 24 bytes per examined
            object.

    Examples:
        >>> gc.disable()
        >>> dropped = Trainer()
        >>> del dropped
        >>> cyclewatch.scan(devices="cpu").findings[0].collected
        'not yet'
    """
    _check(generation, frozen)
    read_configuration()
    update_roots()
    names = names_in(devices, "devices")
    with _lock:
        return _native.scan(generation, frozen, names, excerpts if source_lines else None)


def scan_storages(
    devices: list[str],
) -> tuple[Report, list[tuple[str, int, int, str, list[str]]]]:
    """The report of a scan of all objects, and the storages of its findings.

    A storage is described by its device, address, size in bytes, ``Finding.collected``, and the
    signatures of the findings.
    """
    with _lock:
        return _native.scan_storages(devices, excerpts)


def memory_use(
    device: str, layout: dict[str, Any] | None, examines_pages: bool
) -> tuple[Report, Report, list[LiveOwner], str, list[LiveOwner]]:
    """The dead cycles, the cycles that no collection frees, and the groups of reachable tensors.

    Also a sentence about autograd graphs that were not read, or "", and the groups that hold these
    graphs.

    Takes less time than :func:`scan`, :func:`never_freed` and :func:`live_owners` one after the
    other. The first report omits the cycles through NumPy arrays. Without `layout`, the second
    has no findings. `examines_pages`: set ``LiveOwner.absent_bytes``.
    """
    read_configuration()
    update_roots()
    with _lock:
        return _native.memory_use([device], excerpts, layout, examines_pages)


def never_freed(
    *,
    settle: int = 2,
    devices: str | Iterable[str] = "auto",
    source_lines: bool = True,
) -> Report:
    """Report the tensors in reference cycles that no collection can free.

    The collector cannot follow the references that torch stores in C++, so it never frees a cycle
    that leads through an autograd node, a saved tensor, a hook, the base of a view or a gradient.
    The same is true of the elements of NumPy arrays of objects. This function follows these
    references, and reports the cycles to which no other reference leads. In the findings,
    `collected` is "uncollectable"::

        for batch in loader:
            train_step(batch)
        print(cyclewatch.never_freed(settle=0).to_text())

    Nothing is freed, and no hook runs. torch creates a Python object for each autograd node that
    is examined; the object lives as long as the node. A note in the report counts these objects.
    The search takes about as long as two collections, plus up to 20 microseconds per node that
    it has not examined before. If it finds nothing, but C code holds 1 MiB or more of tensors, it
    takes twice as long.

    An unfinished autograd graph may contain such cycles for a short time. A storage is therefore
    reported only if the last `settle` calls also found it, or if the last call also found it and
    this call finds more storages of its size. Other storages are suspected, and counted in a
    note. Call this function between training steps, when no backward pass is running. While another
    thread runs one, only NumPy arrays are examined, and a note says so. Memory that an ordinary
    dead cycle shares is found only after a collection: call ``gc.collect()`` first.

    How torch stores a reference is verified in this process before it is used. If this fails, as
    for an unknown version of torch, a note says which kind of reference is not followed. Cycles
    through these references are then not found. Memory to which any unknown reference leads is
    considered alive.

    Args:
        settle: The number of earlier calls in a row that must have found a storage. 0 reports all.
        devices: As in :func:`warn_tensor_cycles`.
        source_lines: As in :func:`warn_tensor_cycles`.

    Returns:
        A report that covers only this search. If it has no findings, but 1 MiB or more of tensors
        are reachable from C code only, whose references cannot be examined, a warning is logged.

    Raises:
        ValueError: An argument is invalid.
        TypeError: `settle` or `devices` has the wrong type.
        RuntimeError: This is a free-threaded build, which is not supported.
        MemoryError: There is not enough memory for the search.

    Examples:
        >>> cyclewatch.never_freed(settle=0, devices="cpu").findings
        []
    """
    global last_search_found_nothing
    settle = integer_in("settle", settle, 0, (1 << 31) - 1)
    require_gil()
    note_search()
    read_configuration()
    update_roots()
    names = names_in(devices, "devices")
    with _lock:
        report, live = _native.never_freed_or_live(
            names, excerpts if source_lines else None, torch_layout(), settle, _LEAST_BYTES
        )
    last_search_found_nothing = settle == 0 and not report.findings
    if sentence := held_by_c_code(live):
        from cyclewatch.watching.finding_warnings import log

        log(_WARNING, sentence)
    return report


def held_by_c_code(live: list[LiveOwner]) -> str:
    """What the search cannot examine, because nothing found does not mean that all is well.

    Returns "" if this is less than 1 MiB. `live`: the groups of reachable tensors.
    """
    from cyclewatch.heap.retention import starts_in_c_code

    size = sum(each.nbytes for each in live if starts_in_c_code(each.held_by))
    if size < _LEAST_BYTES:
        return ""
    return (
        f"never_freed() found nothing, but C code holds {_native.format_bytes(size)} of tensors, "
        "and its references cannot be examined. cyclewatch.live_owners() shows what C code refers "
        "to; a method such as close() may end that."
    )


def dead_bytes(*, generation: int = 2, frozen: bool = True) -> dict[str, int]:
    """Return the number of bytes of unreachable tensors on each device.

    Computes only the byte counts of :func:`scan`, including what only autograd graphs keep. With
    ``generation=0``, it is cheap enough for use in each training step::

        metrics.update(cyclewatch.dead_bytes(generation=0))

    Args:
        generation: As in :func:`scan`. While automatic collection is off, generation 0 contains the
            objects created since the last collection.
        frozen: As in :func:`scan`.

    Returns:
        Bytes by device, counting each storage once. Devices without unreachable tensors are
        omitted.

    Raises:
        As in :func:`scan`.

    Examples:
        >>> gc.disable()
        >>> dropped = Trainer()
        >>> del dropped
        >>> cyclewatch.dead_bytes()
        {'cpu': 4096}
    """
    _check(generation, frozen)
    with _lock:
        return _native.dead_bytes(generation, frozen, False)


def has_dead_tensors(generation: int) -> bool:
    """Whether a collection of `generation` may free tensors.

    Unlike :func:`dead_bytes`, includes memory to which C++ code also refers, because that reference
    may come from an autograd graph that belongs to the garbage.
    """
    with _lock:
        return any(_native.dead_bytes(generation, False, True).values())


def _check(generation: int, frozen: bool) -> None:
    if not isinstance(generation, int) or not 0 <= generation <= 2:
        raise ValueError(f"generation must be 0, 1 or 2, not {generation!r}")
    check_boolean("frozen", frozen)
