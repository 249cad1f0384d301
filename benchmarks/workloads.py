# SPDX-License-Identifier: Apache-2.0
"""The garbage that the benchmarks make."""

from __future__ import annotations

from collections.abc import Callable


class Node:
    """One object of a cycle; `payload` is where an owner hangs."""

    __slots__ = ("__weakref__", "next", "payload")

    next: Node
    payload: object


class Instance:
    """As `Node`, with an instance dictionary."""

    other: Instance
    payload: object


class Block:
    """Owns memory because the program says so: no library is needed."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, address: int) -> None:
        self.address = address


def read_block(block: Block) -> dict[str, object]:
    return {"device": "cpu", "nbytes": 4096, "data_ptr": block.address}


def garbage_cycle(iterations: int) -> None:
    """Nothing but garbage: two objects that refer to each other, dropped at once."""
    for _ in range(iterations):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first


def drop_pairs(count: int, make_owner: Callable[[], object]) -> None:
    """Leaves `count` cycles of two objects behind, each holding one owner."""
    for _ in range(count):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first
        first.payload = make_owner()


def drop_rings(rings: int, length: int, make_owner: Callable[[int], object], *, tied: bool) -> None:
    """Leaves `rings` cycles of `length` objects behind, each holding one owner.

    `tied`: all of them hang on one list that each refers to: one component instead of many.
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
