# SPDX-License-Identifier: Apache-2.0
import torch
from micrograd.engine import Value


def leaky():
    x = Value(torch.rand(100))
    y = x * 2 + 1
    y.backward()
    return x.grad
