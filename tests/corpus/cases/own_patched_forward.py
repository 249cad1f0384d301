# SPDX-License-Identifier: Apache-2.0
"""A replacement of a model's forward captures the model and the original method."""

import weakref

EXPECTED = ["forward closure:model + forward closure:original", "Model .forward"]
KEEP = ["forward"]


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.calls = 0

    def forward(self):
        return self.weights


def patch(model, original):
    def forward():
        model.calls += 1
        return original()

    return forward


def leaky(payload):
    model = Model(payload())
    model.forward = patch(model, model.forward)


def fixed(payload):
    model = Model(payload())
    weak = weakref.proxy(model)
    model.forward = patch(weak, lambda: Model.forward(weak))
