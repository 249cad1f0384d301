# SPDX-License-Identifier: Apache-2.0
"""The test that a new cycle fails."""

from engine import SIDE, Engine, Loader


def test_forward() -> None:
    assert Engine().forward(Loader().batch()).shape == (SIDE, 1)
