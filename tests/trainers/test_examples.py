# SPDX-License-Identifier: Apache-2.0
"""Runs examples/trainers, and checks that each prints the card about its leak."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "trainers").glob("*_leak.py"))
NEEDS = {
    "accelerate_leak": ["accelerate"],
    "lightning_leak": ["lightning"],
    "torchtitan_leak": [],
    "transformers_leak": ["transformers", "accelerate"],
}


def test_every_example_is_listed():
    assert sorted(NEEDS) == [example.stem for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_card_names_the_closure(example, tmp_path):
    for name in ["torch", *NEEDS[example.stem]]:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name} (requirements-trainers.txt)")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "#1  " in done.stderr
    assert "cut   closure:self of function" in done.stderr, done.stderr
    assert "closure:self  <- cut" in done.stderr
    assert list(tmp_path.glob("cyclewatch-*.html"))
