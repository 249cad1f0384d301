# SPDX-License-Identifier: Apache-2.0
"""An encoder keeps a single-dispatch function of one of its methods."""

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
