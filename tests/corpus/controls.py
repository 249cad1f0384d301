# SPDX-License-Identifier: Apache-2.0
"""Programs that must not produce a finding."""

# %% acyclic
"""Objects that are not part of a cycle are freed immediately."""


class Holder:
    def __init__(self, tensors):
        self.tensors = tensors


def control(payload):
    Holder([payload(), {"key": payload()}])


# %% rooted_exception
"""A global list refers to an exception whose traceback keeps frames and tensors reachable."""

import_errors = []


def control(payload):
    engine = payload()
    try:
        raise ImportError("optional")
    except ImportError as error:
        import_errors.append(error)
    return engine and None


# %% rooted_finalizer
"""A weakref.finalize() keeps its object reachable if the callback is a method of that object."""

import weakref


class Model:
    def __init__(self, weights):
        self.weights = weights

    def close(self):
        self.weights = None


def control(payload):
    model = Model(payload())
    weakref.finalize(model, model.close).atexit = False


# %% rooted_loop
"""A live object refers to a cycle, so the cycle is reachable."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    return Model(payload())


# %% rooted_method_cache
"""A cache in a class attribute keeps every instance reachable."""

import functools


class Model:
    def __init__(self, weights):
        self.weights = weights

    @functools.lru_cache  # noqa: B019
    def lookup(self):
        return self.weights


def control(payload):
    Model(payload()).lookup()


# %% shared_with_live
"""An unreachable cycle refers to a tensor to which a live object also refers."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    weights = payload()
    Model(weights)
    return weights


# %% without_owners
"""An unreachable cycle does not lead to any device memory."""


class Node:
    pass


def control(payload):
    payload()
    for _ in range(10):
        node = Node()
        node.me = node
