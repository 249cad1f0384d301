# SPDX-License-Identifier: Apache-2.0
import numpy as np
from matplotlib.figure import Figure

OWNERS = {np.ndarray: lambda array: array.nbytes}
figure = Figure()


def leaky():
    axes = figure.add_subplot()
    axes.plot(np.arange(10000.0), np.arange(10000.0))
    axes.clear()
