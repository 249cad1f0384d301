# SPDX-License-Identifier: Apache-2.0
"""A future raises its stored exception in a frame that refers to the future."""

EXPECTED = ["result local:self"]


class Future:
    def __init__(self, exception):
        self.exception = exception

    def result(self):
        raise self.exception

    def result_and_forget(self):
        try:
            raise self.exception
        finally:
            self = None


def leaky(payload):
    batch = payload()
    try:
        Future(ValueError("no result")).result()
    except ValueError:
        return batch and None


def fixed(payload):
    batch = payload()
    try:
        Future(ValueError("no result")).result_and_forget()
    except ValueError:
        return batch and None
