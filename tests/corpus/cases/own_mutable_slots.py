# SPDX-License-Identifier: Apache-2.0
"""A tree of objects with slots, in which each child refers to its parent."""

import weakref

EXPECTED = ["Branch slot:parent"]


class Branch:
    __slots__ = ("__weakref__", "children", "parent", "values")

    def __init__(self, values, parent):
        self.values = values
        self.parent = parent
        self.children = []


def tree(payload, refer):
    root = Branch(payload(), None)
    for _ in range(2):
        child = Branch(payload(), refer(root))
        root.children.append(child)
        child.children.append(Branch(payload(), refer(child)))


def leaky(payload):
    tree(payload, lambda branch: branch)


def fixed(payload):
    tree(payload, weakref.ref)
