# SPDX-License-Identifier: Apache-2.0
"""A class is created on each call, and one of its methods captures data."""

EXPECTED = ["apply closure:data"]


class Scaler:
    def __init__(self, data):
        self.data = data


def leaky(payload):
    data = payload()

    class Scaler:
        def apply(self):
            return data

    Scaler().apply()


def fixed(payload):
    Scaler(payload())
