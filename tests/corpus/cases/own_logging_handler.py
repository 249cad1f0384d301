# SPDX-License-Identifier: Apache-2.0
"""A trainer has its own logger, whose handler refers to the trainer."""

import logging
import weakref

EXPECTED = ["RunHandler .trainer"]
KEEP = ["emit"]


class RunHandler(logging.Handler):
    def __init__(self, trainer):
        super().__init__()
        self.trainer = trainer

    def emit(self, record):
        pass


class Trainer:
    def __init__(self, weights):
        self.weights = weights
        self.logger = logging.Logger("run")


def leaky(payload):
    trainer = Trainer(payload())
    trainer.logger.addHandler(RunHandler(trainer))


def fixed(payload):
    trainer = Trainer(payload())
    trainer.logger.addHandler(RunHandler(weakref.proxy(trainer)))
