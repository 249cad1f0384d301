# SPDX-License-Identifier: Apache-2.0
"""A Lightning model whose training step leaves a reference cycle behind, and the card about it.

Needs the package lightning. Example: python examples/trainers/lightning_leak.py
"""

import logging

import lightning
import torch

from cyclewatch.integrations.lightning import CycleWatchCallback


class Probe:
    """Stores a closure that captures the probe itself."""

    def __init__(self, weight):
        self.weight = weight
        self.seen = lambda batch: batch + self.weight


class Model(lightning.LightningModule):
    """A linear model that makes a probe in each step."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        """Return the loss."""
        probe = Probe(self.layer.weight.detach().clone())
        return self.layer(probe.seen(batch[0])).mean()

    def configure_optimizers(self):
        """Return the optimizer."""
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    """Train; the callback logs the card at level INFO."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("cyclewatch").setLevel(logging.INFO)
    dataset = torch.utils.data.TensorDataset(torch.ones(64, 8))
    trainer = lightning.Trainer(
        max_steps=20,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[CycleWatchCallback()],
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(dataset, batch_size=2))


if __name__ == "__main__":
    main()
