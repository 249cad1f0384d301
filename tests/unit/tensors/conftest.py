# SPDX-License-Identifier: Apache-2.0
"""Fixtures: cycles that hold tensors, and a collector that runs when a test says so."""

import gc

import pytest


class Node:
    """What cycles are made of."""


@pytest.fixture(autouse=True)
def quiet_collector():
    """Collections run when a test says so."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def in_cycle():
    """Make a cycle of one object, which has what is passed as its attributes, and return it."""

    def make(**held):
        node = Node()
        node.self = node
        vars(node).update(held)
        return node

    return make
