# SPDX-License-Identifier: Apache-2.0
"""A wrapper stores itself as an attribute of the module that it wraps."""

import weakref

EXPECTED = ["Module .replica"]


class Module:
    def __init__(self, weights):
        self.weights = weights

    def apply(self, x):
        return x


class Wrapper:
    def __init__(self, module):
        self.module = module
        module.replica = self

    def apply(self, x):
        return self.module.apply(x)


class FixedWrapper(Wrapper):
    def __init__(self, module):
        self.module = module
        module.replica = weakref.ref(self)


def leaky(payload):
    Wrapper(Module(payload())).apply(1)


def fixed(payload):
    FixedWrapper(Module(payload())).apply(1)
