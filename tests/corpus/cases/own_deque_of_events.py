# SPDX-License-Identifier: Apache-2.0
"""A history keeps events, and each event refers to the object with the history."""

import collections

EXPECTED = ["Event .source"]


class Event:
    def __init__(self, source, name):
        self.source = source
        self.name = name


class Engine:
    def __init__(self, cache, source_of):
        self.cache = cache
        self.recent = collections.deque(maxlen=8)
        for name in ("start", "step", "stop"):
            self.recent.append(Event(source_of(self), name))


def leaky(payload):
    Engine(payload(), lambda engine: engine)


def fixed(payload):
    Engine(payload(), id)
