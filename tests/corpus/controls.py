# SPDX-License-Identifier: Apache-2.0
"""Programs that must not produce a finding."""

# %% acyclic
"""Objects without a cycle are freed at once."""


class Holder:
    def __init__(self, tensors):
        self.tensors = tensors


def control(payload):
    Holder([payload(), {"key": payload()}])


# %% rooted_exception
"""A module keeps an exception, and with it frames and tensors: reachable."""

import_errors = []


def control(payload):
    engine = payload()
    try:
        raise ImportError("optional")
    except ImportError as error:
        import_errors.append(error)
    return engine and None


# %% rooted_finalizer
"""A finalizer that calls a method of its own object keeps the object alive: reachable."""

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
"""A cycle that a live object refers to is reachable."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    return Model(payload())


# %% rooted_method_cache
"""A class-level cache keeps every instance: reachable."""

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
"""A cycle refers to a tensor that a live object also refers to."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    weights = payload()
    Model(weights)
    return weights


# %% without_owners
"""Garbage that owns no device memory is not reported."""


class Node:
    pass


def control(payload):
    payload()
    for _ in range(10):
        node = Node()
        node.me = node
