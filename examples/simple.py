# SPDX-License-Identifier: Apache-2.0
"""Repeatedly creates two nodes that refer to each other; each node has a tensor.

Example: python examples/simple.py --iterations 20 --size 1024 --device auto --watch
"""

from workload import parse_arguments, run


class Node:
    """Refers to a tensor and, after link(), to its peer."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.peer = None

    def link(self, peer):
        """Refer to `peer`; if `peer` already refers to this node, the two now form a cycle."""
        self.peer = peer


def step(make_tensor):
    """Create one cycle of two nodes and drop it."""
    left = Node(make_tensor())
    right = Node(make_tensor())
    left.link(right)
    right.link(left)


if __name__ == "__main__":
    run(step, parse_arguments(__doc__))
