# SPDX-License-Identifier: Apache-2.0
"""An object has an attribute that refers to itself."""

EXPECTED = ["Model .unwrapped"]


class Model:
    def __init__(self, weights):
        self.weights = weights


def leaky(payload):
    model = Model(payload())
    model.unwrapped = model


def fixed(payload):
    model = Model(payload())
    model.unwrapped = None
