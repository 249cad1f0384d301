# SPDX-License-Identifier: Apache-2.0
import numpy as np
from scipy.optimize import minimize

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    minimize(lambda x: (x**2).sum(), np.ones(500), jac=lambda x: 2 * x, method="L-BFGS-B")
