# SPDX-License-Identifier: Apache-2.0
"""An attribute is a lambda that reads self."""

EXPECTED = ["<lambda> closure:self", "LeakyModule .scale"]


class LeakyModule:
    def __init__(self, weight):
        self.weight = weight
        self.scale = lambda factor: (self.weight, factor)


class FixedModule:
    def __init__(self, weight):
        self.weight = weight

    def scale(self, factor):
        return self.weight, factor


def leaky(payload):
    LeakyModule(payload())


def fixed(payload):
    FixedModule(payload())
