# SPDX-License-Identifier: Apache-2.0
import gpytorch
import torch


def leaky():
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=100))
    return kernel(torch.rand(10, 100)).to_dense().sum().item()
