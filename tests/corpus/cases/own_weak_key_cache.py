# SPDX-License-Identifier: Apache-2.0
"""The values of a weak-keyed cache refer to its keys, so no key is ever removed."""

import weakref

EXPECTED = ["Result .model"]


class Result:
    def __init__(self, model):
        self.model = model


class Model:
    def __init__(self, weights, refer):
        self.weights = weights
        self.cache = weakref.WeakKeyDictionary()
        self.cache[self] = Result(refer(self))


def leaky(payload):
    Model(payload(), lambda model: model)


def fixed(payload):
    Model(payload(), id)
