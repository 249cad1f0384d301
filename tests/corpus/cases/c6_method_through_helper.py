# SPDX-License-Identifier: Apache-2.0
"""A wrapper gives one of its bound methods to a runner that it owns."""

import weakref

EXPECTED = ["forward __self__", "Runner .function"]


class Runner:
    def __init__(self, function):
        self.function = function


class Wrapper:
    def __init__(self, buffers):
        self.buffers = buffers

    def forward(self):
        return self.buffers


def leaky(payload):
    wrapper = Wrapper(payload())
    wrapper.runner = Runner(wrapper.forward)


def fixed(payload):
    wrapper = Wrapper(payload())
    method = weakref.WeakMethod(wrapper.forward)
    wrapper.runner = Runner(lambda: method()())
