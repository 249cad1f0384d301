# SPDX-License-Identifier: Apache-2.0
"""A recursive inner function appends results to lists of the enclosing function."""

EXPECTED = ["extract closure:extract", "extract closure:outputs"]


def leaky(payload):
    outputs = []
    gradients = []

    def extract(value):
        if isinstance(value, tuple):
            for part in value:
                extract(part)
        else:
            outputs.append(value)
            gradients.append(None)

    extract((payload(), (payload(),)))


def extract_into(value, outputs, gradients):
    if isinstance(value, tuple):
        for part in value:
            extract_into(part, outputs, gradients)
    else:
        outputs.append(value)
        gradients.append(None)


def fixed(payload):
    outputs = []
    gradients = []
    extract_into((payload(), (payload(),)), outputs, gradients)
