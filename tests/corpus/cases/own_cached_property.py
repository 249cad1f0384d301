# SPDX-License-Identifier: Apache-2.0
"""A cached property is a function that captures the object that caches it."""

import functools

EXPECTED = ["<lambda> closure:self", "Model .score"]


class Model:
    def __init__(self, weights):
        self.weights = weights

    @functools.cached_property
    def score(self):
        return lambda sample: (self.weights, sample)


class WithoutSelf(Model):
    @functools.cached_property
    def score(self):
        weights = self.weights
        return lambda sample: (weights, sample)


def leaky(payload):
    Model(payload()).score(1)


def fixed(payload):
    WithoutSelf(payload()).score(1)
