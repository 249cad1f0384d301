# SPDX-License-Identifier: Apache-2.0
"""A module stores one of its own bound methods."""

EXPECTED = ["run_small __self__", "LeakyModule .run"]


class Module:
    def __init__(self, weight):
        self.weight = weight

    def run_small(self):
        return self.weight


class LeakyModule(Module):
    def __init__(self, weight):
        super().__init__(weight)
        self.run = self.run_small


class FixedModule(Module):
    def run(self):
        return self.run_small()


def leaky(payload):
    LeakyModule(payload())


def fixed(payload):
    FixedModule(payload())
