# SPDX-License-Identifier: Apache-2.0
import torch
from accelerate.hooks import ModelHook, add_hook_to_module


def leaky():
    m = torch.nn.Linear(100, 100)
    add_hook_to_module(m, ModelHook())
    m(torch.zeros(1, 100))
