# SPDX-License-Identifier: Apache-2.0
"""A model keeps the handle that removes its hook, and the handle refers to the model."""

import weakref

EXPECTED = ["Handle .model"]
MISS = (
    "The model was created without the handle, so the model seems not to need it; only the name "
    "shows that the object is a handle."
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
