# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols of the compiled code."""

import subprocess
from pathlib import Path

import cyclewatch._native

ROOT = Path(__file__).resolve().parents[2]


def symbols(*arguments):
    """The names of the symbols that nm prints."""
    command = ["nm", "--format=just-symbols", *arguments]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {line.split("@")[0] for line in lines}


def test_extension_exports_only_its_initialization():
    extension = cyclewatch._native.__file__
    assert symbols("--defined-only", "--dynamic", extension) == {"PyInit__native"}
