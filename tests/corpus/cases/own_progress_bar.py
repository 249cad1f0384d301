# SPDX-License-Identifier: Apache-2.0
"""A loader keeps a progress bar over its own generator of batches."""

EXPECTED = ["Loader .progress", "Progress .batches"]


class Progress:
    def __init__(self, batches):
        self.batches = batches
        self.done = 0

    def __iter__(self):
        for batch in self.batches:
            self.done += 1
            yield batch


class Loader:
    def __init__(self, data):
        self.data = data

    def stream(self):
        for _ in range(3):
            yield self.data


def leaky(payload):
    loader = Loader(payload())
    loader.progress = Progress(loader.stream())
    next(iter(loader.progress))


def fixed(payload):
    loader = Loader(payload())
    progress = Progress(loader.stream())
    next(iter(progress))
