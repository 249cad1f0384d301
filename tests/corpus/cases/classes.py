# SPDX-License-Identifier: Apache-2.0
"""Classes created on each call."""

# %% own_class_attribute
"""A class is created on each call and stores data in a class attribute."""

EXPECTED = ["Plugin .weights"]


class Plugin:
    def __init__(self, weights):
        self.weights = weights


def leaky(payload):
    class Plugin:
        weights = payload()

        def run(self):
            return self.weights

    Plugin().run()


def fixed(payload):
    Plugin(payload())


# %% own_class_of_one
"""An object gets its own class, and an attribute of that class refers to the object."""

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


# %% own_class_per_call
"""A class is created on each call, and one of its methods captures data."""

EXPECTED = ["apply closure:data"]


class Scaler:
    def __init__(self, data):
        self.data = data


def leaky(payload):
    data = payload()

    class Scaler:
        def apply(self):
            return data

    Scaler().apply()


def fixed(payload):
    Scaler(payload())


# %% own_class_shares_variable
"""A class and its base class are created on each call, and their methods capture the same data."""

EXPECTED = ["forward closure:scale + backward closure:scale"]


def leaky(payload):
    scale = payload()

    class Scaling:
        def forward(self, value):
            return value, scale

        @staticmethod
        def backward(gradient):
            return gradient, scale

    class Layer(Scaling):
        name = "layer"

    Layer().forward(1.0)


class Scaling:
    def __init__(self, scale):
        self.scale = scale

    def forward(self, value):
        return value, self.scale

    def backward(self, gradient):
        return gradient, self.scale


def fixed(payload):
    Scaling(payload()).forward(1.0)


# %% own_classes_share_data
"""Two classes are created on each call, and methods of both capture the same data."""

EXPECTED = ["encode closure:table + decode closure:table"]


def leaky(payload):
    table = payload()

    class Encoder:
        def encode(self, value):
            return value, table

    class Decoder:
        def decode(self, value):
            return value, table

    Decoder().decode(Encoder().encode(1))


class Encoder:
    def __init__(self, table):
        self.table = table


class Decoder:
    def __init__(self, table):
        self.table = table


def fixed(payload):
    table = payload()
    return Encoder(table).table is Decoder(table).table


# %% own_descriptor_cache
"""A class created in a function has a descriptor that caches results by instance."""

EXPECTED = ["dict key", "Cached .values"]


class Cached:
    def __init__(self, function):
        self.function = function
        self.values = {}

    def __get__(self, instance, owner):
        if instance not in self.values:
            self.values[instance] = self.function(instance)
        return self.values[instance]


class Computed(Cached):
    def __get__(self, instance, owner):
        return self.function(instance)


def make_class(descriptor):
    class Layer:
        norm = descriptor(lambda layer: 3)

        def __init__(self, weight):
            self.weight = weight

    return Layer


def leaky(payload):
    assert make_class(Cached)(payload()).norm == 3


def fixed(payload):
    assert make_class(Computed)(payload()).norm == 3


# %% own_named_tuple_default
"""A NamedTuple class is created on each call, and the default value of a field is data."""

import typing

EXPECTED = [
    "Options ._field_defaults + <lambda> default:weights",
    # From 3.14 on the class keeps its original namespace for its annotations.
    "Options ._field_defaults + <lambda> default:weights + dict ['weights']",
]
KEEP = {"weights"}


def leaky(payload):
    given = payload()

    class Options(typing.NamedTuple):
        step: int
        weights: object = given

    Options(1)


class Options(typing.NamedTuple):
    step: int
    weights: object = None


def fixed(payload):
    Options(1, payload())


# %% own_slots_dataclass
"""Each call creates a dataclass with slots, and thus two classes that share their methods."""

import dataclasses

EXPECTED = ["scaled closure:factor"]


def leaky(payload):
    factor = payload()

    @dataclasses.dataclass(slots=True)
    class Sample:
        value: int = 0

        def scaled(self):
            return self.value, factor

    Sample(3).scaled()


@dataclasses.dataclass(slots=True)
class Sample:
    value: int = 0

    def scaled(self, factor):
        return self.value, factor


def fixed(payload):
    Sample(3).scaled(payload())
