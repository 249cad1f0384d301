# SPDX-License-Identifier: Apache-2.0
"""A method is replaced on the instance by a function that wraps it."""

import weakref

EXPECTED = ["wrapper closure:method", "step __self__"]


class Optimizer:
    def __init__(self, moments):
        self.moments = moments

    def step(self):
        return self.moments


def leaky(payload):
    def with_counter(method):
        def wrapper():
            wrapper_calls.append(1)
            return method()

        wrapper_calls = []
        return wrapper

    optimizer = Optimizer(payload())
    optimizer.step = with_counter(optimizer.step)


def fixed(payload):
    def with_counter(method):
        weak_method = weakref.WeakMethod(method)

        def wrapper():
            return weak_method()()

        return wrapper

    optimizer = Optimizer(payload())
    optimizer.step = with_counter(optimizer.step)
