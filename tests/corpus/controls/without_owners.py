# SPDX-License-Identifier: Apache-2.0
"""Garbage without device memory is not reported."""


class Node:
    pass


def control(payload):
    payload()
    for _ in range(10):
        node = Node()
        node.me = node
