# SPDX-License-Identifier: Apache-2.0
import torch
from ignite.engine import Engine, Events


def leaky():
    model = torch.nn.Linear(100, 1)
    losses = []

    def update(engine, batch):
        return model(batch).sum().item()

    def log(engine):
        losses.append(engine.state.output)

    trainer = Engine(update)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, log)
    trainer.run([torch.rand(2, 100)], max_epochs=2)
    return losses
