# SPDX-License-Identifier: Apache-2.0
import torch
from tensordict import TensorDict


def leaky():
    batch = TensorDict({"observation": torch.rand(10, 100)}, batch_size=[10])
    return batch.mean(dim=0)["observation"].sum().item()
