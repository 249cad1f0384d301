# SPDX-License-Identifier: Apache-2.0
"""An awaitable keeps a list of callbacks, one of which captures the awaitable."""

EXPECTED = ["<lambda> closure:self"]


class Awaitable:
    def __init__(self, permutation):
        self.callbacks = []
        self.permutation = permutation


class LeakyAwaitable(Awaitable):
    def __init__(self, permutation):
        super().__init__(permutation)
        self.callbacks.append(lambda value: (value, self.permutation))


class FixedAwaitable(Awaitable):
    def __init__(self, permutation):
        super().__init__(permutation)
        self.callbacks.append(lambda value: (value, permutation))


def leaky(payload):
    LeakyAwaitable(payload())


def fixed(payload):
    FixedAwaitable(payload())
