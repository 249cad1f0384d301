# SPDX-License-Identifier: Apache-2.0
"""A leaking model in two processes."""

import gc
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


gc.disable()
lightning.Trainer(
    max_steps=6,
    accelerator="cpu",
    devices=2,
    strategy="ddp",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    callbacks=[CycleWatchCallback(devices="cpu", report_dir="reports", formats="json", budget=1)],
).fit(
    Model(),
    torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(64, 8)), batch_size=2),
)
