# SPDX-License-Identifier: Apache-2.0
"""A group hangs itself as an attribute on objects of a library's class."""

from collections import UserDict

EXPECTED = ["UserDict .group"]


class LeakyGroup:
    def __init__(self, members):
        self.members = members
        for member in members:
            member.group = self


class FixedGroup:
    def __init__(self, members):
        self.members = members


def leaky(payload):
    LeakyGroup([UserDict(weight=payload())])


def fixed(payload):
    FixedGroup([UserDict(weight=payload())])
