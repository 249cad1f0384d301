# SPDX-License-Identifier: Apache-2.0
import torch
from mako.template import Template

page = Template("${weights.mean()}")


def leaky():
    return page.render(weights=torch.rand(100, 100))
