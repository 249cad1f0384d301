# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

import netCDF4
import numpy as np

OWNERS = {netCDF4.Dataset: lambda owner: 1 << 20}

path = os.path.join(tempfile.mkdtemp(), "a.nc")


def leaky():
    d = netCDF4.Dataset(path, "w")
    d.createDimension("x", 100)
    v = d.createVariable("v", "f8", ("x",))
    v[:] = np.ones(100)
