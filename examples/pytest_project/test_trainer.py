# SPDX-License-Identifier: Apache-2.0
"""Tests that pass: one creates a cycle that is in the baseline; the other creates no cycle."""

from engine import SIDE, Loader, Trainer


def test_step() -> None:
    assert Trainer().step() == SIDE


def test_batch() -> None:
    assert Loader().batch().sum() == SIDE
