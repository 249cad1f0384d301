# SPDX-License-Identifier: Apache-2.0
import torch
from asteval import Interpreter


def leaky():
    interpreter = Interpreter(use_numpy=False)
    interpreter.symtable["x"] = torch.rand(1000)
    return interpreter("x * 2 + 1").sum().item()
