# SPDX-License-Identifier: Apache-2.0
import torch
import torchsde


class Motion(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def f(self, t, y):
        return -y

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


def leaky():
    with torch.no_grad():
        path = torchsde.sdeint(Motion(), torch.ones(4, 100), torch.linspace(0, 1, 5), dt=0.1)
    return path.sum().item()
