# SPDX-License-Identifier: Apache-2.0
import torch
from torchmetrics import MeanMetric


def leaky():
    m = MeanMetric()
    m.update(torch.rand(10))
    m.compute()
