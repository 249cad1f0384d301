# SPDX-License-Identifier: Apache-2.0
"""A property setter stores a child and sets the child's reference to its parent."""

EXPECTED = ["Head ._module"]


class Head:
    _module = None


class Module:
    def __init__(self, weight):
        self.weight = weight

    @property
    def head(self):
        return self._head

    @head.setter
    def head(self, head):
        self._head = head
        head._module = self


class FixedModule(Module):
    @Module.head.setter
    def head(self, head):
        self._head = head
        head._module = id(self)


def leaky(payload):
    Module(payload()).head = Head()


def fixed(payload):
    FixedModule(payload()).head = Head()
