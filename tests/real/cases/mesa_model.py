# SPDX-License-Identifier: Apache-2.0
import mesa
import numpy as np

OWNERS = {np.ndarray: lambda array: array.nbytes}


class Model(mesa.Model):
    def __init__(self):
        super().__init__()
        self.field = np.ones((100, 100))

    def step(self):
        self.field += 1


def leaky():
    Model().step()
