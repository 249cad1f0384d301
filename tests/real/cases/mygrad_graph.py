# SPDX-License-Identifier: Apache-2.0
import mygrad as mg
import numpy as np

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    x = mg.Tensor(np.ones((100, 100)))
    y = x * 2.0
    z = mg.sum(y + x)
    return z.item()
