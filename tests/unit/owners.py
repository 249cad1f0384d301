# SPDX-License-Identifier: Apache-2.0
"""Objects of the unit tests: a memory owner and a reference cycle."""


class Buffer:
    """Counts as a memory owner while the fixture `buffers_are_owners` is active."""

    def __init__(self, nbytes=100, device="cpu", **facts):
        self.facts = {"device": device, "nbytes": nbytes, "data_ptr": id(self), **facts}


class Node:
    """An object that refers to itself."""

    def __init__(self, *held):
        self.me = self
        self.held = held
