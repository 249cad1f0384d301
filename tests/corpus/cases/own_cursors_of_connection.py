# SPDX-License-Identifier: Apache-2.0
"""A connection lists the cursors it returned, to close them; callers only have a cursor."""

import weakref

EXPECTED = ["Connection ._open_cursors"]


class Cursor:
    def __init__(self, connection):
        self.connection = connection
        self.position = 0

    def fetch(self):
        self.position += 1
        return self.connection.block[self.position]


class Connection:
    def __init__(self, block):
        self.block = block
        self._open_cursors = []

    def cursor(self):
        cursor = Cursor(self)
        self._open_cursors.append(cursor)
        return cursor


class FixedConnection:
    def __init__(self, block):
        self.block = block
        self._open_cursors = weakref.WeakSet()

    def cursor(self):
        cursor = Cursor(self)
        self._open_cursors.add(cursor)
        return cursor


def leaky(payload):
    Connection([payload() for _ in range(2)]).cursor().fetch()


def fixed(payload):
    FixedConnection([payload() for _ in range(2)]).cursor().fetch()
