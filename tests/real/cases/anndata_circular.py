# SPDX-License-Identifier: Apache-2.0
import anndata
import numpy as np

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    a = anndata.AnnData(np.ones((100, 100), dtype="float32"))
    a.obsm["pca"] = np.zeros((100, 5))
    return a.shape
