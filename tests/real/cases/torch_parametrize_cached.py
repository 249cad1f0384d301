# SPDX-License-Identifier: Apache-2.0
import torch
from torch.nn.utils.parametrizations import weight_norm


def leaky():
    weight_norm(torch.nn.Linear(100, 100))(torch.rand(2, 100))
