# SPDX-License-Identifier: Apache-2.0
"""An object gets its own class, which keeps the object as a class attribute."""

EXPECTED = ["Patched .instance"]


class Model:
    pass


def make(payload, namespace):
    model = Model()
    model.weights = payload()
    model.__class__ = type("Patched", (Model,), namespace(model))


def leaky(payload):
    make(payload, lambda model: {"instance": model})


def fixed(payload):
    make(payload, lambda model: {})
