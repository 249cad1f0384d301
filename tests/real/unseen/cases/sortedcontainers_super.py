# SPDX-License-Identifier: Apache-2.0
import torch
from sortedcontainers import SortedDict


def leaky():
    losses = SortedDict()
    for step in range(3):
        losses[step] = torch.rand(100)
    return losses.peekitem(0)[0]
