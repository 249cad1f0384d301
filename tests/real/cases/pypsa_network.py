# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pypsa

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    n = pypsa.Network()
    n.set_snapshots(range(1000))
    n.add("Bus", "b")
    n.add("Load", "l", bus="b", p_set=np.ones(1000))
    n.add("Generator", "g", bus="b", p_nom=2)
    n.statistics
