# SPDX-License-Identifier: Apache-2.0
"""A function keeps an error in order to raise another one from it."""

EXPECTED = ["work local:first"]


def work(payload, forget):
    batch = payload()
    try:
        raise KeyError("weights")
    except KeyError as error:
        first = error
    try:
        raise RuntimeError("cannot load") from first
    finally:
        if forget:
            first = None
        del batch


def outer(payload, forget):
    other_batch = payload()
    try:
        work(payload, forget)
    except RuntimeError:
        return other_batch and None


def leaky(payload):
    outer(payload, False)


def fixed(payload):
    outer(payload, True)
