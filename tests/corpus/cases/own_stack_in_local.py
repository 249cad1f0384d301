# SPDX-License-Identifier: Apache-2.0
"""A function keeps the result of inspect.stack(), which includes its own frame."""

import inspect

EXPECTED = ["work local:entries"]


def leaky(payload):
    def work():
        values = payload()
        entries = inspect.stack()
        return len(entries), len([values])

    work()


def fixed(payload):
    def work():
        values = payload()
        names = [entry.function for entry in inspect.stack()]
        return len(names), len([values])

    work()
