# SPDX-License-Identifier: Apache-2.0
import torch
from chameleon import PageTemplate

page = PageTemplate('<p tal:define="mean weights.mean()">${mean}</p>')


def leaky():
    return page(weights=torch.rand(100, 100))
