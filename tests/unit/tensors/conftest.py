# SPDX-License-Identifier: Apache-2.0
"""Fixtures: cycles with tensors, and no automatic collections."""

import gc

import pytest


class Node:
    """An object for cycles."""


@pytest.fixture(autouse=True)
def quiet_collector():
    """Disable automatic collections."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def shown_saved_tensors():
    """Skip the test if torch does not show the tensors in autograd graphs."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch._C._autograd.SavedTensor, "data"):
        pytest.skip("torch 2.6 does not show the tensors in autograd graphs")


@pytest.fixture
def in_cycle():
    """Creates an object that refers to itself and has the given attributes."""

    def make(**held):
        node = Node()
        node.self = node
        vars(node).update(held)
        return node

    return make
