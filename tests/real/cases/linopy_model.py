# SPDX-License-Identifier: Apache-2.0

import linopy
import numpy as np
import pandas as pd

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    m = linopy.Model()
    x = m.add_variables(lower=0, coords=[pd.RangeIndex(1000, name="i")], name="x")
    m.add_constraints(3 * x >= 10, name="c")
    m.add_objective(x.sum())
