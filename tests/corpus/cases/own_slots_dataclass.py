# SPDX-License-Identifier: Apache-2.0
"""A dataclass with slots is created on each call, as two classes with the same methods."""

import dataclasses

EXPECTED = ["scaled closure:factor"]


def leaky(payload):
    factor = payload()

    @dataclasses.dataclass(slots=True)
    class Sample:
        value: int = 0

        def scaled(self):
            return self.value, factor

    Sample(3).scaled()


@dataclasses.dataclass(slots=True)
class Sample:
    value: int = 0

    def scaled(self, factor):
        return self.value, factor


def fixed(payload):
    Sample(3).scaled(payload())
