# SPDX-License-Identifier: Apache-2.0
"""Two children of different classes refer back to the parent, and both must stop."""

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
