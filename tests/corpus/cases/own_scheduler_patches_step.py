# SPDX-License-Identifier: Apache-2.0
"""A scheduler counts the steps of its optimizer by a wrapper that it puts in the step's place."""

import weakref

EXPECTED = ["wrapper closure:scheduler"]
MISS = (
    "An attribute that is called like the class it refers to looks like a way back to the whole; "
    "that a scheduler cannot do without its optimizer is not to be seen."
)
ONLY_NAMES_TELL = (
    "Called otherwise, the attribute is not taken for a way back, and the answer is right."
)


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
