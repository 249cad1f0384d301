# SPDX-License-Identifier: Apache-2.0
"""A class is created on each call and keeps data as a class attribute."""

EXPECTED = ["Plugin .weights"]


class Plugin:
    def __init__(self, weights):
        self.weights = weights


def leaky(payload):
    class Plugin:
        weights = payload()

        def run(self):
            return self.weights

    Plugin().run()


def fixed(payload):
    Plugin(payload())
