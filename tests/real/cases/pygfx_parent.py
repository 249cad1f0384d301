# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pygfx

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    scene = pygfx.Scene()
    group = pygfx.Group()
    group.add(
        pygfx.Mesh(pygfx.Geometry(positions=np.ones((1000, 3), "f")), pygfx.MeshBasicMaterial())
    )
    scene.add(group)
