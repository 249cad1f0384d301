# SPDX-License-Identifier: Apache-2.0
"""A loader keeps the iterator that it returned, to report progress."""

import weakref

EXPECTED = ["Loader .latest"]


class Batches:
    def __init__(self, loader):
        self.loader = loader
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken == len(self.loader.samples):
            raise StopIteration
        self.taken += 1
        return self.loader.samples[self.taken - 1]


class Loader:
    def __init__(self, samples):
        self.samples = samples
        self.latest = None

    def __iter__(self):
        self.latest = Batches(self)
        return self.latest


class FixedLoader:
    def __init__(self, samples):
        self.samples = samples
        self.latest = None

    def __iter__(self):
        batches = Batches(self)
        self.latest = weakref.ref(batches)
        return batches


def leaky(payload):
    for _ in Loader([payload()]):
        pass


def fixed(payload):
    for _ in FixedLoader([payload()]):
        pass
