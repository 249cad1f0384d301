# SPDX-License-Identifier: Apache-2.0
import torch
from moviepy import ImageSequenceClip


def leaky():
    clip = ImageSequenceClip([torch.rand(8, 8, 3) for _ in range(4)], fps=2)
    return clip.get_frame(1).mean().item()
