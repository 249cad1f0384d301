# SPDX-License-Identifier: Apache-2.0
"""Two programs that leak tensors, watched through the interface of torch's own detector.

To compare the detectors, import `observe_tensor_cycles` from torch.utils.viz._cycles instead.

Example: python examples/torch_cycles.py --workload awaitable --warn_tensor_cycles
"""

import argparse
import gc
import logging
import pathlib

import torch

from cyclewatch.compat.torch_cycles import observe_tensor_cycles

logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
log = logging.getLogger("example")


class Node:
    """Has a tensor, and a link to another node."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.link = None


class AwaitableTensor:
    """Computes a tensor when somebody waits for it."""

    def __init__(self, size, device):
        self._size = size
        self._device = device
        self._result = None

    def wait(self):
        """Return the tensor; create it on the first call."""
        if self._result is None:
            self._result = torch.ones(self._size, device=self._device)
        return self._result


class AwaitableView:
    """Waits for a tensor and changes its shape in a callback, which refers to `self`."""

    def __init__(self, awaitable, view_dim):
        self._awaitable = awaitable
        self._view_dim = view_dim
        self._callback = lambda result: result.view(-1, self._view_dim)

    def wait(self):
        """Return the tensor with the new shape."""
        return self._callback(self._awaitable.wait())


def simple(size, device):
    """Two nodes refer to each other."""
    left = Node(torch.ones(size, device=device))
    right = Node(torch.ones(size, device=device))
    left.link, right.link = right, left


def awaitable(size, device):
    """An object and its callback refer to each other."""
    AwaitableView(AwaitableTensor(size, device), view_dim=4).wait()


def write_page(html):
    """Save the page of one collection."""
    number = len(list(pathlib.Path.cwd().glob("tensor-cycles-*.html"))) + 1
    path = pathlib.Path(f"tensor-cycles-{number}.html")
    path.write_text(html, encoding="utf-8")
    log.warning("a reference cycle kept a tensor alive: see %s", path)


def main():
    """Run one of the workloads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workloads = {"simple": simple, "awaitable": awaitable}
    parser.add_argument("--workload", choices=workloads, default="simple")
    parser.add_argument("--size", type=int, default=2**20, help="elements of each tensor")
    parser.add_argument("--num_iter", type=int, default=100)
    parser.add_argument(
        "--gc_collect_interval", type=int, default=0, help="collect after this many iterations"
    )
    parser.add_argument("--warn_tensor_cycles", action="store_true", help="write a page per leak")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()

    remove = observe_tensor_cycles(write_page) if arguments.warn_tensor_cycles else None
    for iteration in range(1, arguments.num_iter + 1):
        workloads[arguments.workload](arguments.size, arguments.device)
        if arguments.gc_collect_interval and iteration % arguments.gc_collect_interval == 0:
            gc.collect()
    gc.collect()
    if remove is not None:
        remove()


if __name__ == "__main__":
    main()
