# SPDX-License-Identifier: Apache-2.0
"""A function keeps an exception in a local variable after its handler."""

EXPECTED = ["work local:last"]


def work(payload, forget):
    batch = payload()
    last = None
    try:
        raise ValueError("bad batch")
    except ValueError as error:
        last = error
    if forget:
        last = None
    return batch and last and None


def leaky(payload):
    work(payload, False)


def fixed(payload):
    work(payload, True)
