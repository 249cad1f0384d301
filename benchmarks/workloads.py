# SPDX-License-Identifier: Apache-2.0
"""Creates the garbage for the benchmarks."""

from __future__ import annotations

from collections.abc import Callable


class Node:
    """One object of a cycle; `payload` may refer to an owner."""

    __slots__ = ("__weakref__", "next", "payload")

    next: Node
    payload: object


class Instance:
    """Like `Node`, but with an instance dictionary."""

    other: Instance
    payload: object


class Block:
    """A memory owner registered with register_owner(), so the benchmarks need no GPU library."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, address: int) -> None:
        self.address = address


def read_block(block: Block) -> dict[str, object]:
    return {"device": "cpu", "nbytes": 4096, "data_ptr": block.address}


def garbage_cycle(iterations: int) -> None:
    """Create and drop pairs of objects that refer to each other."""
    for _ in range(iterations):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first


def drop_pairs(count: int, make_owner: Callable[[], object]) -> None:
    """Create `count` unreachable cycles; each has two objects, one of which refers to an owner."""
    for _ in range(count):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first
        first.payload = make_owner()


def drop_rings(rings: int, length: int, make_owner: Callable[[int], object], *, tied: bool) -> None:
    """Create `rings` unreachable cycles; each has `length` objects and refers to one owner.

    If `tied` is true, a shared list connects all cycles into one component.
    """
    heads: list[Node] = []
    for number in range(rings):
        head = last = Node()
        for _ in range(length - 1):
            last.next = Node()
            last = last.next
        last.next = head
        head.payload = make_owner(number)
        if tied:
            heads.append(head)
            last.payload = heads
