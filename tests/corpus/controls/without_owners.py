# SPDX-License-Identifier: Apache-2.0
"""Garbage that keeps no device memory is nobody's business."""


class Node:
    pass


def control(payload):
    payload()
    for _ in range(10):
        node = Node()
        node.me = node
