# SPDX-License-Identifier: Apache-2.0
import torch
from diffusers.hooks import HookRegistry, ModelHook


def leaky():
    m = torch.nn.Linear(100, 100)
    HookRegistry.check_if_exists_or_initialize(m).register_hook(ModelHook(), "hook")
    m(torch.rand(2, 100))
