# SPDX-License-Identifier: Apache-2.0

import fastai.callback.progress  # noqa: F401 - adds no_bar() to Learner
import torch
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner


def leaky():
    data = [(torch.rand(8), torch.rand(1)) for _ in range(8)]
    dls = DataLoaders(DataLoader(data, bs=4), DataLoader(data, bs=4))
    learn = Learner(dls, torch.nn.Linear(8, 1), loss_func=torch.nn.functional.mse_loss)
    with learn.no_bar(), learn.no_logging():
        learn.fit(1, lr=0.1)
