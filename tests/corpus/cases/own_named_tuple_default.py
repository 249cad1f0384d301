# SPDX-License-Identifier: Apache-2.0
"""A NamedTuple is made on each call, and a field's default is data."""

import typing

EXPECTED = ["Options ._field_defaults + <lambda> default:weights"]
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
