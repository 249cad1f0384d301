# SPDX-License-Identifier: Apache-2.0
"""A scheduler replaces its optimizer's step by a wrapper that counts calls."""

import weakref

EXPECTED = ["wrapper closure:scheduler"]


class Optimizer:
    def __init__(self, moments):
        self.moments = moments

    def step(self):
        return len(self.moments)


class Scheduler:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.count = 0


def counted(function, scheduler):
    def wrapper():
        scheduler.count += 1
        return function(scheduler.optimizer)

    return wrapper


def leaky(payload):
    scheduler = Scheduler(Optimizer(payload()))
    scheduler.optimizer.step = counted(Optimizer.step, scheduler)


def fixed(payload):
    scheduler = Scheduler(Optimizer(payload()))
    scheduler.optimizer.step = counted(Optimizer.step, weakref.proxy(scheduler))
