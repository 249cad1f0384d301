# SPDX-License-Identifier: Apache-2.0
import collections
import collections.abc

import torch

for name in collections.abc.__all__:  # where Python 3.9 had them
    setattr(collections, name, getattr(collections.abc, name))
from bidict import bidict  # noqa: E402


def leaky():
    tensors = bidict((name, torch.rand(100)) for name in ("weight", "bias"))
    return tensors.inv[tensors["bias"]]
