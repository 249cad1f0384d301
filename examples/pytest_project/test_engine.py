# SPDX-License-Identifier: Apache-2.0
"""A test that fails because of a new cycle."""

from engine import SIDE, Engine, Loader


def test_forward() -> None:
    assert Engine().forward(Loader().batch()).shape == (SIDE, 1)
