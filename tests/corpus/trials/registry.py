# SPDX-License-Identifier: Apache-2.0
"""The trial programs by name, each with its accepted and its alarming answers."""

TRIALS = {}


def trial(*accepted, alarming=()):
    """Register a function; `accepted` contains the references that a maintainer would cut."""

    def register(function):
        TRIALS[function.__name__] = (function, accepted, alarming)
        return function

    return register
