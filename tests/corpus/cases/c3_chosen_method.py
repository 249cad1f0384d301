# SPDX-License-Identifier: Apache-2.0
"""A scheduler selects one of its methods and stores it."""

import weakref

EXPECTED = ["triangular __self__", "Schedule .scale_function"]


class Schedule:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def triangular(self, step):
        return step


def leaky(payload):
    schedule = Schedule(payload())
    schedule.scale_function = schedule.triangular


def fixed(payload):
    schedule = Schedule(payload())
    schedule.scale_function = weakref.WeakMethod(schedule.triangular)
