# SPDX-License-Identifier: Apache-2.0
"""The factory of a defaultdict reads an attribute of the object that has the dict."""

import collections

EXPECTED = ["<lambda> closure:self"]


class LeakyTable:
    def __init__(self, zero):
        self.zero = zero
        self.rows = collections.defaultdict(lambda: self.zero)


class FixedTable:
    def __init__(self, zero):
        self.zero = zero
        self.rows = collections.defaultdict(lambda: zero)


def leaky(payload):
    LeakyTable(payload())


def fixed(payload):
    FixedTable(payload())
