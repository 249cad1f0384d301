# SPDX-License-Identifier: Apache-2.0
"""A callback has its parent as the default value of a parameter."""

EXPECTED = ["report default:trainer"]


class Trainer:
    def __init__(self, model):
        self.model = model


def leaky(payload):
    trainer = Trainer(payload())

    def report(step, trainer=trainer):
        return trainer.model, step

    trainer.on_step = report


def fixed(payload):
    trainer = Trainer(payload())

    def report(step, trainer):
        return trainer.model, step

    trainer.on_step = report
