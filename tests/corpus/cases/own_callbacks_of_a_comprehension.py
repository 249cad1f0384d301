# SPDX-License-Identifier: Apache-2.0
"""Callbacks are created in comprehensions, which are separate functions only on 3.11."""

EXPECTED = ["<lambda> closure:self", "LeakyPanel .callbacks"]


class LeakyPanel:
    def __init__(self, weight):
        self.weight = weight
        self.callbacks = [[lambda: self for _ in range(1)] for _ in range(1)]


class FixedPanel:
    def __init__(self, weight):
        self.weight = weight
        self.callbacks = [[lambda panel: panel for _ in range(1)] for _ in range(1)]


def leaky(payload):
    LeakyPanel(payload())


def fixed(payload):
    FixedPanel(payload())
