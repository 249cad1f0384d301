# SPDX-License-Identifier: Apache-2.0
"""Each instance has an lru_cache for one of its bound methods."""

import functools
import weakref

EXPECTED = ["lookup __self__", "Model .cached_lookup"]


class Model:
    def __init__(self, weights):
        self.weights = weights

    def lookup(self, name):
        return self.weights, name


def leaky(payload):
    model = Model(payload())
    model.cached_lookup = functools.lru_cache(model.lookup)


def fixed(payload):
    model = Model(payload())
    method = weakref.WeakMethod(model.lookup)
    model.cached_lookup = functools.lru_cache(lambda name: method()(name))
