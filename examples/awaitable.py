# SPDX-License-Identifier: Apache-2.0
"""A callback that captures the object it is stored on keeps that object's result alive.

For instance: python examples/awaitable.py --iterations 20 --size 1024 --device auto --watch
"""

from workload import parse_arguments, run


class AwaitableTensor:
    """Stands for a result that is computed when somebody waits for it, and kept from then on."""

    def __init__(self, make_tensor):
        self._make_tensor = make_tensor
        self._result = None

    def wait(self):
        """Return the result; make it first if nobody has asked before."""
        if self._result is None:
            self._result = self._make_tensor()
        return self._result


class AwaitableTensorWithViewCallback:
    """Waits for another awaitable and reshapes what it returns."""

    def __init__(self, awaitable, view_dim):
        self._awaitable = awaitable
        self._view_dim = view_dim
        self._callback = lambda ret: ret.view(-1, self._view_dim)

    def wait(self):
        """Return the other's result in our shape."""
        return self._callback(self._awaitable.wait())


def step(make_tensor):
    """Wait for one awaitable and drop it."""
    AwaitableTensorWithViewCallback(AwaitableTensor(make_tensor), view_dim=8).wait()


if __name__ == "__main__":
    run(step, parse_arguments(__doc__))
