# SPDX-License-Identifier: Apache-2.0
"""A cycle refers to a tensor that a live object refers to as well."""


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.me = self


def control(payload):
    weights = payload()
    Model(weights)
    return weights
