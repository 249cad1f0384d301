# SPDX-License-Identifier: Apache-2.0
"""A cycle that a live object refers to is not garbage."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    return Model(payload())
