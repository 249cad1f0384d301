# SPDX-License-Identifier: Apache-2.0
"""A cache on the class keeps every instance: reachable, not garbage."""

import functools


class Model:
    def __init__(self, weights):
        self.weights = weights

    @functools.lru_cache  # noqa: B019
    def lookup(self):
        return self.weights


def control(payload):
    Model(payload()).lookup()
