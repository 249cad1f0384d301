# SPDX-License-Identifier: Apache-2.0
import numpy as np
import trimesh

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    m = trimesh.Trimesh(
        vertices=np.random.rand(1000, 3), faces=np.arange(999).reshape(-1, 3), process=False
    )
    return m.bounds
