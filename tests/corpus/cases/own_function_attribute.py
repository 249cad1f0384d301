# SPDX-License-Identifier: Apache-2.0
"""A function has an attribute that refers to the object that stores the function."""

EXPECTED = ["step .model"]


class Model:
    def __init__(self, weights):
        self.weights = weights


def leaky(payload):
    def step(batch):
        return batch

    model = Model(payload())
    model.compiled = step
    step.model = model


def fixed(payload):
    def step(batch):
        return batch

    model = Model(payload())
    model.compiled = step
    step.model = id(model)
