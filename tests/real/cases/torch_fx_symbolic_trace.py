# SPDX-License-Identifier: Apache-2.0
import torch


def leaky():
    torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.ReLU()))
