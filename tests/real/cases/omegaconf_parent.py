# SPDX-License-Identifier: Apache-2.0
from omegaconf import BytesNode, OmegaConf

OWNERS = {BytesNode: lambda n: len(n._val or b"")}


def leaky():
    c = OmegaConf.create({"model": {"layers": [1, 2, 3], "weights": BytesNode(b"x" * 100_000)}})
    return c.model.layers[0]
