# SPDX-License-Identifier: Apache-2.0
"""A class registers attributes as children; its reference to its parent bypasses that."""

import weakref

EXPECTED = ["Block .owner"]
KEEP = {"owner"}


class Registering:
    def __setattr__(self, name, value):
        self.__dict__.setdefault("parts", []).append(name)
        super().__setattr__(name, value)


class Model(Registering):
    def __init__(self, weights, block):
        self.weights = weights
        self.block = block(self)


class Block(Registering):
    def __init__(self, owner):
        object.__setattr__(self, "owner", owner)


class WeakBlock(Registering):
    def __init__(self, owner):
        object.__setattr__(self, "owner", weakref.ref(owner))


def leaky(payload):
    Model(payload(), Block)


def fixed(payload):
    Model(payload(), WeakBlock)
