# SPDX-License-Identifier: Apache-2.0
"""Two inner functions call each other."""

EXPECTED = ["even closure:odd", "odd closure:even"]


def leaky(payload):
    values = payload()

    def even(n):
        return odd(n - 1) if n else values

    def odd(n):
        return even(n - 1) if n else None

    even(4)


def fixed(payload):
    values = payload()

    def even(n):
        return odd(n - 1) if n else values

    def odd(n):
        return even(n - 1) if n else None

    even(4)
    even = odd = None  # noqa: F811
