# SPDX-License-Identifier: Apache-2.0
"""A group stores itself as an attribute of objects of a library class."""

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
