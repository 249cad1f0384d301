# SPDX-License-Identifier: Apache-2.0
"""A model keeps the handle that removes its hook, and the handle knows the model."""

import weakref

EXPECTED = ["Handle .model"]
MISS = (
    "The handle was put into a model that had been made without it, and so the model looks as if "
    "it could do without; what a handle is for shows only in its name."
)


class Handle:
    def __init__(self, model, number):
        self.model = model
        self.number = number

    def remove(self):
        del self.model.hooks[self.number]


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.hooks = {}


def leaky(payload):
    model = Model(payload())
    model.hooks[1] = print
    model.handle = Handle(model, 1)


def fixed(payload):
    model = Model(payload())
    model.hooks[1] = print
    model.handle = Handle(weakref.proxy(model), 1)
