# SPDX-License-Identifier: Apache-2.0
"""A leaking model in two processes, which the strategy of the argument starts."""

import gc
import sys
import warnings

import lightning
import torch

import cyclewatch
from cyclewatch.integrations.lightning import CycleWatchCallback

warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, index):
        cycle = [torch.zeros(256)]
        cycle.append(cycle)
        return self.layer(batch[0]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def main(strategy):
    gc.disable()
    settings = {"devices": "cpu", "report_dir": "reports", "formats": "json", "budget": 1}
    data = torch.utils.data.TensorDataset(torch.ones(64, 8))
    lightning.Trainer(
        max_steps=6,
        accelerator="cpu",
        devices=2,
        strategy=strategy,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[CycleWatchCallback(**settings)],
    ).fit(Model(), torch.utils.data.DataLoader(data, batch_size=2))


if __name__ == "__main__":
    main(sys.argv[1])
