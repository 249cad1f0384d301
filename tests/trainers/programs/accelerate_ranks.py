# SPDX-License-Identifier: Apache-2.0
"""A leaking training loop; each rank writes what its tracker received."""

import gc
import json
import os
import warnings
from pathlib import Path

import accelerate
import torch

import cyclewatch
from cyclewatch.integrations.accelerate import CycleWatch

warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)


class Tracker(accelerate.tracking.GeneralTracker):
    name = "recorder"
    requires_logging_directory = False
    tracker = None
    rows = []

    def log(self, values, step=None, **_):
        self.rows.append((step, values))


accelerator = accelerate.Accelerator(cpu=True, log_with=Tracker())
accelerator.init_trackers("test")
model, optimizer = accelerator.prepare(
    model := torch.nn.Linear(8, 1), torch.optim.SGD(model.parameters(), 0.1)
)
gc.disable()
with CycleWatch(
    accelerator, log_every=2, devices="cpu", report_dir="reports", formats="json", budget=1
) as watch:
    for step in range(1, 5):
        cycle = [torch.zeros(256)]
        cycle.append(cycle)
        del cycle
        accelerator.backward(model(torch.ones(2, 8)).sum())
        optimizer.step()
        watch.step(step)
Path(f"rows-{os.environ['RANK']}.json").write_text(json.dumps(Tracker.rows))
accelerator.end_training()
