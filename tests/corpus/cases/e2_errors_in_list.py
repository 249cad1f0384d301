# SPDX-License-Identifier: Apache-2.0
"""A comparison collects errors in a list that is a local variable of its frame."""

EXPECTED = ["list [x]", "compare local:errors"]


def compare(payload, forget):
    errors = []
    actual = payload()
    try:
        raise AssertionError(f"not equal: {type(actual)}")
    except AssertionError as error:
        errors.append(error)
    if forget:
        errors.clear()


def leaky(payload):
    compare(payload, False)


def fixed(payload):
    compare(payload, True)
