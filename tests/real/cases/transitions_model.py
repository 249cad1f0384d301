# SPDX-License-Identifier: Apache-2.0
import numpy as np
from transitions import Machine

OWNERS = {np.ndarray: lambda array: array.nbytes}


class Model:
    def __init__(self):
        self.data = np.ones((100, 100))
        self.machine = Machine(
            model=self,
            states=["a", "b", "c"],
            initial="a",
            transitions=[["go", "a", "b"], ["stop", "b", "c"]],
        )


def leaky():
    Model().go()
