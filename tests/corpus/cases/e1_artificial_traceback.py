# SPDX-License-Identifier: Apache-2.0
"""A helper keeps an error, and the traceback it builds for it, in local variables."""

import sys
import types

EXPECTED = ["append local:error", "append local:error + append local:trace"]


def append(error, trace):
    frame = sys._getframe()
    trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    error.__traceback__ = trace
    del frame


def append_and_forget(error, trace):
    try:
        frame = sys._getframe()
        error.__traceback__ = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    finally:
        del error, trace, frame


def leaky(payload):
    batch = payload()
    append(KeyError("missing"), None)
    return batch and None


def fixed(payload):
    batch = payload()
    append_and_forget(KeyError("missing"), None)
    return batch and None
