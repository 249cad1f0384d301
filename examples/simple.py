# SPDX-License-Identifier: Apache-2.0
"""Two nodes that refer to each other, each with a tensor, made again and again.

For instance: python examples/simple.py --iterations 20 --size 1024 --device auto --watch
"""

from workload import parse_arguments, run


class Node:
    """Holds a tensor and, once linked, its peer."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.peer = None

    def link(self, peer):
        """Refer to `peer`, which closes the cycle when it already refers to us."""
        self.peer = peer


def step(make_tensor):
    """Make one cycle of two nodes and drop it."""
    left = Node(make_tensor())
    right = Node(make_tensor())
    left.link(right)
    right.link(left)


if __name__ == "__main__":
    run(step, parse_arguments(__doc__))
