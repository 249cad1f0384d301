# SPDX-License-Identifier: Apache-2.0
"""Two classes are created on each call, and methods of both use the same data."""

EXPECTED = ["encode closure:table + decode closure:table"]


def leaky(payload):
    table = payload()

    class Encoder:
        def encode(self, value):
            return value, table

    class Decoder:
        def decode(self, value):
            return value, table

    Decoder().decode(Encoder().encode(1))


class Encoder:
    def __init__(self, table):
        self.table = table


class Decoder:
    def __init__(self, table):
        self.table = table


def fixed(payload):
    table = payload()
    return Encoder(table).table is Decoder(table).table
