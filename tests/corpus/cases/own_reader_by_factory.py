# SPDX-License-Identifier: Apache-2.0
"""A model's constructor asks a method of its own for a reader, and keeps that for itself."""

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
