# SPDX-License-Identifier: Apache-2.0
"""A leaking training; with the word "oom", it fails with an out-of-memory error in step 2."""

import gc
import sys
import warnings

import torch
import transformers

import cyclewatch
from cyclewatch.integrations.transformers import CycleWatchCallback

warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)
WORDS = torch.arange(8)


class Leaking(transformers.Trainer):
    def training_step(self, *arguments, **keywords):
        cycle = [torch.zeros(256)]
        cycle.append(cycle)
        if "oom" in sys.argv and self.state.global_step == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return super().training_step(*arguments, **keywords)


gc.disable()
Leaking(
    model=transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=32,
            n_positions=16,
            n_embd=8,
            n_layer=1,
            n_head=1,
            bos_token_id=None,
            eos_token_id=None,
        )
    ),
    args=transformers.TrainingArguments(
        output_dir="out",
        max_steps=4,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
    ),
    train_dataset=[{"input_ids": WORDS, "labels": WORDS}] * 16,
    callbacks=[CycleWatchCallback(devices="cpu", report_dir="reports", formats="json", budget=1)],
).train()
