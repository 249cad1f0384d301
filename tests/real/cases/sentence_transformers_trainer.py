# SPDX-License-Identifier: Apache-2.0
import tempfile

import torch
from accelerate.state import GradientState
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.losses import CosineSimilarityLoss


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(256, 64)
        self.tokenizer = None

    def forward(self, features):
        features["sentence_embedding"] = self.table(features["input_ids"]).mean(1)
        return features

    def tokenize(self, texts, **kwargs):
        ids = [[ord(c) % 256 for c in t[:4].ljust(4)] for t in texts]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.ones(len(ids), 4)}

    def get_word_embedding_dimension(self):
        return 64

    def save(self, *args, **kwargs):
        pass


data = Dataset.from_dict(
    {"a": ["abcd", "efgh"] * 4, "b": ["ijkl", "mnop"] * 4, "score": [0.1, 0.9] * 4}
)
folder = tempfile.mkdtemp()


def leaky():
    model = SentenceTransformer(modules=[Words()], device="cpu")
    arguments = SentenceTransformerTrainingArguments(
        folder, max_steps=2, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True
    )
    SentenceTransformerTrainer(
        model, arguments, train_dataset=data, loss=CosineSimilarityLoss(model)
    ).train()
    GradientState._reset_state()  # refers to the trainer: accelerate#3391
