# SPDX-License-Identifier: Apache-2.0
"""A registry has objects as keys, and each of them refers to the registry."""

import weakref

EXPECTED = ["Layer .registry", "dict key"]


class Registry:
    def __init__(self, entries):
        self.entries = entries


class Layer:
    def __init__(self, registry, weight):
        self.registry = registry
        self.weight = weight
        registry.entries[self] = "frozen"


def leaky(payload):
    Layer(Registry({}), payload())


def fixed(payload):
    Layer(Registry(weakref.WeakKeyDictionary()), payload())
