# SPDX-License-Identifier: Apache-2.0
"""A dict whose items are its attributes, because it is its own namespace."""

EXPECTED = ["Settings __dict__"]


class Settings(dict):
    def __init__(self, itself):
        if itself:
            self.__dict__ = self


def leaky(payload):
    Settings(itself=True).values = payload()


def fixed(payload):
    Settings(itself=False).values = payload()
