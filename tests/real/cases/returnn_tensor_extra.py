# SPDX-License-Identifier: Apache-2.0
import returnn.frontend as rf
import torch
from returnn.tensor import Dim, Tensor

rf.select_backend_torch()


def leaky():
    feat = Dim(1000, name="feature")
    x = Tensor("x", dims=[feat], dtype="float32", raw_tensor=torch.zeros(1000))
    x.available_for_inference = False  # as for targets; only defaults need no _extra
