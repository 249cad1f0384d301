# SPDX-License-Identifier: Apache-2.0
"""A context manager stores the error that ended it, and a frame of it refers to the manager."""

EXPECTED = ["Guard .error", "work local:guard"]


class Guard:
    def __init__(self, keep):
        self.keep = keep
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.error = self.keep(error)
        return True


def work(payload, keep):
    batch = payload()
    guard = Guard(keep)
    with guard:
        raise ValueError("bad batch")
    return batch and None


def leaky(payload):
    work(payload, lambda error: error)


def fixed(payload):
    work(payload, str)
