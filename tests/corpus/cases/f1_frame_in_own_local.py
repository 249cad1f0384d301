# SPDX-License-Identifier: Apache-2.0
"""A helper keeps its own frame in a local variable; its caller owns the tensor."""

import sys

EXPECTED = ["location local:current_frame"]


def location():
    current_frame = sys._getframe()
    return current_frame.f_back.f_lineno


def location_and_forget():
    current_frame = sys._getframe()
    try:
        return current_frame.f_back.f_lineno
    finally:
        del current_frame


def leaky(payload):
    batch = payload()
    return location() and batch and None


def fixed(payload):
    batch = payload()
    return location_and_forget() and batch and None
