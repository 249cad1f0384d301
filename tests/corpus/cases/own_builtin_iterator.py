# SPDX-License-Identifier: Apache-2.0
"""A loader keeps a lazy map over one of its own methods."""

EXPECTED = ["load __self__", "Loader .batches"]


class Loader:
    def __init__(self, data):
        self.data = data

    def load(self, index):
        return self.data, index


def leaky(payload):
    loader = Loader(payload())
    loader.batches = map(loader.load, range(3))


def fixed(payload):
    loader = Loader(payload())
    data = loader.data
    loader.batches = map(lambda index: (data, index), range(3))  # noqa: C417 - the iterator is the case
