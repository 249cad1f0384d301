# SPDX-License-Identifier: Apache-2.0
"""A descriptor caches results by instance, in a class that is created in a function."""

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
