# SPDX-License-Identifier: Apache-2.0
"""A Hugging Face trainer whose loss leaves a reference cycle behind, and the card about it.

Needs the packages transformers and accelerate; downloads nothing. Example:
python examples/trainers/transformers_leak.py
"""

import logging

import torch
import transformers

from cyclewatch.integrations.transformers import CycleWatchCallback


class Probe:
    """Stores a closure that captures the probe itself."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.first = lambda: self.inputs[0]


class Trainer(transformers.Trainer):
    """Makes a probe in each step."""

    def compute_loss(self, model, inputs, **options):
        """Return the loss."""
        Probe(inputs["input_ids"].clone())
        return super().compute_loss(model, inputs, **options)


def main():
    """Train; the callback logs the card at level INFO."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("cyclewatch").setLevel(logging.INFO)
    config = transformers.GPT2Config(
        vocab_size=32,
        n_positions=16,
        n_embd=8,
        n_layer=1,
        n_head=1,
        bos_token_id=None,
        eos_token_id=None,
    )
    words = torch.arange(8)
    trainer = Trainer(
        model=transformers.GPT2LMHeadModel(config),
        args=transformers.TrainingArguments(
            output_dir="out", max_steps=10, use_cpu=True, save_strategy="no", report_to="none"
        ),
        train_dataset=[{"input_ids": words, "labels": words}] * 16,
    )
    CycleWatchCallback().attach(trainer)
    trainer.train()


if __name__ == "__main__":
    main()
