# SPDX-License-Identifier: Apache-2.0
"""Reading an attribute caches a helper in the instance; the helper refers back to it."""

import functools

EXPECTED = ["Frame .iloc", "Indexer .frame"]


class Indexer:
    def __init__(self, frame):
        self.frame = frame


class Frame:
    def __init__(self, columns):
        self.columns = columns

    @functools.cached_property
    def iloc(self):
        return Indexer(self)


class FixedFrame:
    def __init__(self, columns):
        self.columns = columns

    @property
    def iloc(self):
        return Indexer(self)


def leaky(payload):
    return Frame(payload()).iloc and None


def fixed(payload):
    return FixedFrame(payload()).iloc and None
