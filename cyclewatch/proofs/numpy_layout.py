# SPDX-License-Identifier: Apache-2.0
"""Checks, in this process, where a NumPy array stores references to Python objects.

`numpy.ndarray` has no `tp_traverse`, so the collector sees neither the elements of an array of
objects nor the owner of an array's memory. They are read from memory, at offsets that this module
finds by comparing the words of a few arrays with their attributes.
"""

from __future__ import annotations

import sys

from cyclewatch.proofs.process_memory import WORD, Memory, UnverifiedError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_HALF = 0xFFFFFFFF  # of a word: a C int


def array_layout() -> tuple[Any, ...] | str | None:
    """`numpy.ndarray` and the offsets of its fields, in the order of ArrayLayout in C++.

    A sentence if they could not be verified; None if NumPy is not imported.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "ndarray") or not hasattr(numpy, "arange"):
        return None
    try:
        memory = Memory()
        try:
            offsets = _find_offsets(numpy, memory)
            _check_ownership(numpy, memory, offsets)
        finally:
            memory.close()
    except Exception as error:  # noqa: BLE001 - another version of NumPy
        reason = str(error) if isinstance(error, UnverifiedError) else repr(error)
        return (
            f"cyclewatch could not verify how NumPy {getattr(numpy, '__version__', '?')} stores "
            f"references to Python objects ({reason}), so cycles through NumPy arrays are not "
            "found."
        )
    return (numpy.ndarray, *offsets)


def _find_offsets(numpy: Any, memory: Memory) -> list[int]:
    whole = numpy.empty((3, 5), dtype=object)
    arrays = [
        whole,
        whole[1:],
        numpy.arange(7),
        numpy.zeros((2, 3, 4), order="F"),
        numpy.zeros((), dtype=object),
        numpy.zeros(4)[::2],
    ]
    count = numpy.ndarray.__basicsize__ // WORD
    words = [memory.words(id(array), count) for array in arrays]

    def shape_at(address: int, array: Any) -> tuple[int, ...]:
        try:
            return memory.words(address, array.ndim) if array.ndim else ()
        except UnverifiedError:
            return (-1,)

    fields: dict[str, Callable[[Any, int], bool]] = {
        "memory": lambda array, word: word == array.__array_interface__["data"][0],
        "number of dimensions": lambda array, word: word & _HALF == array.ndim,
        "shape": lambda array, word: shape_at(word, array) == array.shape,
        "base": lambda array, word: word == (0 if array.base is None else id(array.base)),
        "dtype": lambda array, word: word == id(array.dtype),
        "flags": lambda array, word: word & _HALF == array.flags.num,
    }
    offsets = []
    for name, matches in fields.items():
        found = [
            i
            for i in range(2, count)
            if all(matches(array, each[i]) for array, each in zip(arrays, words, strict=True))
        ]
        check(len(found) == 1, f"the {name} of an array")
        offsets.append(found[0] * WORD)
    return offsets


def _check_ownership(numpy: Any, memory: Memory, offsets: list[int]) -> None:
    """Only the array that owns the memory owns references to the elements."""
    marker = object()
    before = sys.getrefcount(marker)
    plain = numpy.full((2, 2), marker, dtype=object)
    check(sys.getrefcount(marker) == before + 4, "the elements of an array")
    views = [plain[:1], plain.T, plain.reshape(4)]
    check(sys.getrefcount(marker) == before + 4, "the elements of a view")
    check(
        all(view.base is plain and not view.flags.owndata for view in views), "the base of a view"
    )
    check(plain.flags.owndata and plain.flags.num & 0x4 != 0, "the flags of an array")
    address = memory.word(id(plain) + offsets[0])
    check(set(memory.words(address, 4)) == {id(marker)}, "the elements of an array")
    held = sys.getrefcount(plain)
    views.clear()
    check(sys.getrefcount(plain) == held - 3, "the base of a view")
    del plain
    check(sys.getrefcount(marker) == before, "the elements of an array")

    record = numpy.dtype([("number", "i4"), ("object", object)])
    structured = numpy.zeros(3, dtype=record)
    structured["object"] = marker
    check(sys.getrefcount(marker) == before + 3, "the fields of a structured array")
    address = memory.word(id(structured) + offsets[0]) + record.fields["object"][1]
    found = [memory.word(address + i * record.itemsize) for i in range(3)]
    check(found == [id(marker)] * 3, "the fields of a structured array")
    del structured
    check(sys.getrefcount(marker) == before, "the fields of a structured array")
