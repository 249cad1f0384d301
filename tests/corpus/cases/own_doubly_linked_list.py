# SPDX-License-Identifier: Apache-2.0
"""The nodes of a list refer to the next and the previous one."""

EXPECTED = ["Node .previous"]


class Node:
    def __init__(self, page):
        self.page = page
        self.next = None
        self.previous = None


def linked(payload, back):
    first = Node(payload())
    last = first
    for _ in range(3):
        node = Node(payload())
        last.next = node
        node.previous = last if back else None
        last = node


def leaky(payload):
    linked(payload, True)


def fixed(payload):
    linked(payload, False)
