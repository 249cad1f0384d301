# SPDX-License-Identifier: Apache-2.0
"""A session keeps an ExitStack that contains one of the session's methods."""

import contextlib
import weakref

EXPECTED = ["close __self__", "Session .at_end"]


class Session:
    def __init__(self, buffers):
        self.buffers = buffers
        self.at_end = contextlib.ExitStack()

    def close(self):
        self.at_end.pop_all()


def leaky(payload):
    session = Session(payload())
    session.at_end.callback(session.close)


def fixed(payload):
    session = Session(payload())
    session.at_end.callback(weakref.WeakMethod(session.close))
