# SPDX-License-Identifier: Apache-2.0
"""A function decorated with functools.wraps of a method is stored on the method's object."""

import functools

EXPECTED = ["quiet .__wrapped__", "run __self__"]


class Engine:
    def __init__(self, weights):
        self.weights = weights

    def run(self):
        return self.weights


def leaky(payload):
    engine = Engine(payload())

    @functools.wraps(engine.run)
    def quiet():
        return None

    engine.quiet = quiet


def fixed(payload):
    engine = Engine(payload())

    @functools.wraps(Engine.run)
    def quiet():
        return None

    engine.quiet = quiet
