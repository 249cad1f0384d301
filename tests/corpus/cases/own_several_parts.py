# SPDX-License-Identifier: Apache-2.0
"""Two parts of different kinds point back at the whole, and both have to stop."""

EXPECTED = ["Checkpoint .trainer + Logger .trainer"]


class Logger:
    def __init__(self, trainer):
        self.trainer = trainer


class Checkpoint:
    def __init__(self, trainer):
        self.trainer = trainer


class Trainer:
    def __init__(self, model, refer):
        self.model = model
        self.logger = Logger(refer(self))
        self.checkpoint = Checkpoint(refer(self))


def leaky(payload):
    Trainer(payload(), lambda trainer: trainer)


def fixed(payload):
    Trainer(payload(), id)
