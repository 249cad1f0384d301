# SPDX-License-Identifier: Apache-2.0
"""The stages of a pipeline refer to the next and the previous one."""

EXPECTED = ["Stage .prev_stage"]


class Stage:
    def __init__(self, weights):
        self.weights = weights
        self.next_stage = None
        self.prev_stage = None


def pipeline(payload, both_ways):
    stages = [Stage(payload()) for _ in range(3)]
    for i in range(2):
        stages[i].next_stage = stages[i + 1]
        if both_ways:
            stages[i + 1].prev_stage = stages[i]


def leaky(payload):
    pipeline(payload, both_ways=True)


def fixed(payload):
    pipeline(payload, both_ways=False)
