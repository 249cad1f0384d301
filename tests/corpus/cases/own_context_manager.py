# SPDX-License-Identifier: Apache-2.0
"""A session enters and keeps a context manager created from one of its methods."""

import contextlib

EXPECTED = ["Session .guard"]


class Session:
    def __init__(self, buffers):
        self.buffers = buffers

    @contextlib.contextmanager
    def locked(self):
        yield self.buffers


def leaky(payload):
    session = Session(payload())
    session.guard = session.locked()
    session.guard.__enter__()


def fixed(payload):
    session = Session(payload())
    with session.locked():
        pass
