# SPDX-License-Identifier: Apache-2.0
"""An object keeps a started generator of one of its methods."""

EXPECTED = ["Loader .stream"]


class Loader:
    def __init__(self, data):
        self.data = data

    def batches(self):
        while True:
            yield self.data


def leaky(payload):
    loader = Loader(payload())
    loader.stream = loader.batches()
    next(loader.stream)


def fixed(payload):
    loader = Loader(payload())
    stream = loader.batches()
    next(stream)
