# SPDX-License-Identifier: Apache-2.0
"""A recursive inner function keeps itself and the state that it captures."""

EXPECTED = ["load closure:load", "load closure:state"]


def leaky(payload):
    state = {"weight": payload()}

    def load(depth):
        if depth:
            load(depth - 1)
        return state

    load(2)


def fixed(payload):
    state = {"weight": payload()}

    def load(depth):
        if depth:
            load(depth - 1)
        return state

    load(2)
    load = None
