# SPDX-License-Identifier: Apache-2.0
"""A NamedTuple is created on each call, and the default of a field is data."""

import typing

EXPECTED = [
    "Options ._field_defaults + <lambda> default:weights",
    # From 3.14 on the class keeps the namespace that it was made from, for its annotations.
    "Options ._field_defaults + <lambda> default:weights + dict ['weights']",
]
KEEP = {"weights"}


def leaky(payload):
    given = payload()

    class Options(typing.NamedTuple):
        step: int
        weights: object = given

    Options(1)


class Options(typing.NamedTuple):
    step: int
    weights: object = None


def fixed(payload):
    Options(1, payload())
