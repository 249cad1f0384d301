# SPDX-License-Identifier: Apache-2.0
"""A class and its base are created on each call, and the base's methods share data."""

EXPECTED = ["forward closure:scale + backward closure:scale"]


def leaky(payload):
    scale = payload()

    class Scaling:
        def forward(self, value):
            return value, scale

        @staticmethod
        def backward(gradient):
            return gradient, scale

    class Layer(Scaling):
        name = "layer"

    Layer().forward(1.0)


class Scaling:
    def __init__(self, scale):
        self.scale = scale

    def forward(self, value):
        return value, self.scale

    def backward(self, gradient):
        return gradient, self.scale


def fixed(payload):
    Scaling(payload()).forward(1.0)
