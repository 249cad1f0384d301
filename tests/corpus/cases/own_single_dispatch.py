# SPDX-License-Identifier: Apache-2.0
"""An encoder makes a generic function of one of its methods, and keeps it."""

import functools

EXPECTED = ["encode __self__", "Encoder .generic"]


class Encoder:
    def __init__(self, table):
        self.table = table

    def encode(self, value):
        return self.table, value


def leaky(payload):
    encoder = Encoder(payload())
    encoder.generic = functools.singledispatch(encoder.encode)


def fixed(payload):
    encoder = Encoder(payload())
    encoder.generic = functools.singledispatch(Encoder.encode)
