# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

import loompy
import numpy as np

OWNERS = {np.ndarray: lambda array: array.nbytes}

path = os.path.join(tempfile.mkdtemp(), "a.loom")
loompy.create(path, np.ones((100, 200)), {"gene": np.arange(100)}, {"cell": np.arange(200)})


def leaky():
    ds = loompy.connect(path, validate=False)
    ds.ca.cell.sum()
    ds.ra.gene.sum()
    ds.layers[""][:3, :]
