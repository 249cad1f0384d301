# SPDX-License-Identifier: Apache-2.0
"""A model's constructor stores a reader that one of its methods creates."""

EXPECTED = ["DataReader .model"]


class DataReader:
    def __init__(self, model):
        self.model = model


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.reader = self.make_reader()

    def make_reader(self):
        return DataReader(self)


class IndependentReader:
    def __init__(self, size):
        self.size = size


class FixedModel(Model):
    def make_reader(self):
        return IndependentReader(1)


def leaky(payload):
    Model(payload())


def fixed(payload):
    FixedModel(payload())
