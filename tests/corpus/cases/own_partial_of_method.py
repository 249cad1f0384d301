# SPDX-License-Identifier: Apache-2.0
"""A model stores a partial of one of its own methods."""

import functools

EXPECTED = ["transform __self__", "Model .apply", "partial func"]


class Model:
    def __init__(self, weights):
        self.weights = weights

    def transform(self, batch, scale):
        return self.weights, batch, scale

    def apply_twice(self, batch):
        return self.transform(batch, scale=2)


def leaky(payload):
    model = Model(payload())
    model.apply = functools.partial(model.transform, scale=2)


def fixed(payload):
    Model(payload()).apply_twice(1)
