# SPDX-License-Identifier: Apache-2.0
"""A queue stores itself in each slot that is pushed; the slot refers to the tensor."""

EXPECTED = ["Slot .place"]


class Slot:
    def __init__(self, memory):
        self.memory = memory
        self.place = None


class Queue:
    def __init__(self):
        self.first = None

    def push(self, slot, backwards=True):
        if backwards:
            slot.place = self
        self.first = slot


def leaky(payload):
    Queue().push(Slot(payload()))


def fixed(payload):
    Queue().push(Slot(payload()), backwards=False)
