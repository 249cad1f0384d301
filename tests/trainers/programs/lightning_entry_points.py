# SPDX-License-Identifier: Apache-2.0
"""Prints the number of our callbacks in a Trainer and a Fabric, and whether we were imported."""

import sys

import lightning

trainer = lightning.Trainer(
    accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
fabric = lightning.Fabric(accelerator="cpu")


def ours(callbacks):
    return sum(type(each).__module__.startswith("cyclewatch") for each in callbacks)


print(ours(trainer.callbacks), ours(fabric._callbacks), end=" ")
print("loaded" if "cyclewatch._native" in sys.modules else "absent")
