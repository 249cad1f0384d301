# SPDX-License-Identifier: Apache-2.0
"""A finalizer that is a method of its own object keeps the object reachable."""

import weakref


class Model:
    def __init__(self, weights):
        self.weights = weights

    def close(self):
        self.weights = None


def control(payload):
    model = Model(payload())
    weakref.finalize(model, model.close).atexit = False
