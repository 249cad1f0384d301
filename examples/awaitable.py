# SPDX-License-Identifier: Apache-2.0
"""An object stores a callback that captures the object; this cycle keeps the object's result alive.

Example: python examples/awaitable.py --iterations 20 --size 1024 --device auto --watch
"""

from workload import parse_arguments, run


class AwaitableTensor:
    """A result that is computed by the first wait() and then stored."""

    def __init__(self, make_tensor):
        self._make_tensor = make_tensor
        self._result = None

    def wait(self):
        """Return the result; compute it on the first call."""
        if self._result is None:
            self._result = self._make_tensor()
        return self._result


class AwaitableTensorWithViewCallback:
    """Waits for another awaitable and reshapes its result."""

    def __init__(self, awaitable, view_dim):
        self._awaitable = awaitable
        self._view_dim = view_dim
        self._callback = lambda ret: ret.view(-1, self._view_dim)

    def wait(self):
        """Return the reshaped result."""
        return self._callback(self._awaitable.wait())


def step(make_tensor):
    """Wait for one awaitable and drop it."""
    AwaitableTensorWithViewCallback(AwaitableTensor(make_tensor), view_dim=8).wait()


if __name__ == "__main__":
    run(step, parse_arguments(__doc__))
