# SPDX-License-Identifier: Apache-2.0
"""A backward pass of another thread that waits in the middle."""

import contextlib
import threading

import torch


@contextlib.contextmanager
def running_backward():
    """Another thread runs a backward pass during the block."""
    inside, leave = threading.Event(), threading.Event()
    leaf = torch.ones(4, requires_grad=True)

    def wait(gradient):
        inside.set()
        leave.wait()

    handle = leaf.register_hook(wait)
    thread = threading.Thread(target=(leaf * 2).sum().backward)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()
        handle.remove()
