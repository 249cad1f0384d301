# SPDX-License-Identifier: Apache-2.0
"""A trainer lists callbacks of two classes, each of which refers to the trainer."""

EXPECTED = ["Early .trainer + Saver .trainer"]


class Callback:
    def attach(self, trainer):
        self.trainer = trainer


class Saver(Callback):
    pass


class Early(Callback):
    pass


class Trainer:
    def __init__(self, model, refer):
        self.model = model
        self.callbacks = [Saver(), Early()]
        for callback in self.callbacks:
            callback.attach(refer(self))


def leaky(payload):
    Trainer(payload(), lambda trainer: trainer)


def fixed(payload):
    Trainer(payload(), id)
