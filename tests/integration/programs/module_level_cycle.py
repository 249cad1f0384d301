# SPDX-License-Identifier: Apache-2.0
"""Creates a cycle at module level, where no function contains the line, and prints its location."""

import gc

import cyclewatch


class Tensor:
    """A stand-in for a tensor."""


class Node:
    """Has a peer, which code outside of the class sets."""


def read(tensor):
    return {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(tensor)}


cyclewatch.register_owner(Tensor, read)
with cyclewatch.watch(devices="all") as watch:
    a, b = Node(), Node()
    a.tensor = Tensor()
    a.peer, b.peer = b, a  # <-
    del a, b
    gc.collect()
[finding] = watch.report().findings
print(*{reference.location for reference in finding.cycle})
