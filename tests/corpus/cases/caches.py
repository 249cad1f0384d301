# SPDX-License-Identifier: Apache-2.0
"""Caches, dicts and objects that contain themselves."""

# %% own_attribute_dict
"""An instance of a dict subclass uses itself as its `__dict__`."""

EXPECTED = ["Settings __dict__"]


class Settings(dict):
    def __init__(self, itself):
        if itself:
            self.__dict__ = self


def leaky(payload):
    Settings(itself=True).values = payload()


def fixed(payload):
    Settings(itself=False).values = payload()


# %% own_cached_property
"""The value of a cached property is a function that captures the object."""

import functools

EXPECTED = ["<lambda> closure:self", "Model .score"]


class Model:
    def __init__(self, weights):
        self.weights = weights

    @functools.cached_property
    def score(self):
        return lambda sample: (self.weights, sample)


class WithoutSelf(Model):
    @functools.cached_property
    def score(self):
        weights = self.weights
        return lambda sample: (weights, sample)


def leaky(payload):
    Model(payload()).score(1)


def fixed(payload):
    WithoutSelf(payload()).score(1)


# %% own_dict_in_itself
"""A configuration dict contains itself."""

EXPECTED = ["dict ['root']"]


def leaky(payload):
    config = {"weights": payload(), "size": 3}
    config["root"] = config


def fixed(payload):
    config = {"weights": payload(), "size": 3}
    config["root"] = dict(config)


# %% own_instance_lru_cache
"""Each instance caches the results of one of its methods in its own lru_cache."""

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


# %% own_notebook_cells
"""The namespace of a notebook and its list of outputs both refer to the results of cells."""

EXPECTED = ["dict ['model'] + dict [<int>]"]

CELLS = """
class Model:
    def __init__(self, weight):
        self.weight = weight

    def forward(self):
        return self.weight

model = Model(payload())
Out[3] = model
"""


def leaky(payload):
    exec(CELLS, {"payload": payload, "Out": {}})


def fixed(payload):
    exec(CELLS + "del model\nOut.clear()\n", {"payload": payload, "Out": {}})


# %% own_self_reference
"""An attribute of an object refers to the object itself."""

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


# %% own_weak_key_cache
"""The values of a WeakKeyDictionary refer to its keys, so no entry is ever removed."""

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
