# SPDX-License-Identifier: Apache-2.0
"""A trainer passes a scheduler a lambda that captures the trainer."""

EXPECTED = ["<lambda> closure:self"]


class Optimizer:
    def __init__(self, moments):
        self.moments = {"exp_avg": moments}


class Scheduler:
    def __init__(self, optimizer, rule):
        self.optimizer = optimizer
        self.rules = [rule]


class Trainer:
    def __init__(self, optimizer):
        self.gamma = 0.9
        self.optimizer = optimizer


def leaky(payload):
    class LeakyTrainer(Trainer):
        def prepare(self):
            self.scheduler = Scheduler(self.optimizer, lambda epoch: self.gamma**epoch)

    make_and_prepare(LeakyTrainer, payload)


def fixed(payload):
    class FixedTrainer(Trainer):
        def prepare(self):
            gamma = self.gamma
            self.scheduler = Scheduler(self.optimizer, lambda epoch: gamma**epoch)

    make_and_prepare(FixedTrainer, payload)


def make_and_prepare(trainer_class, payload):
    trainer_class(Optimizer(payload())).prepare()
