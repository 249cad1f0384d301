# SPDX-License-Identifier: Apache-2.0
"""A trainer stores itself in the module that it trains."""

import weakref

EXPECTED = ["Module .trainer"]


class Module:
    def __init__(self, weights):
        self.weights = weights
        self.trainer = None


class Trainer:
    def __init__(self):
        self.module = None

    def fit(self, module):
        self.module = module
        module.trainer = self

    def fit_weakly(self, module):
        self.module = module
        module.trainer = weakref.proxy(self)


def leaky(payload):
    Trainer().fit(Module(payload()))


def fixed(payload):
    Trainer().fit_weakly(Module(payload()))
