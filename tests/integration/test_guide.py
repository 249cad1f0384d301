# SPDX-License-Identifier: Apache-2.0
"""Runs the code in docs/guide: python blocks as programs, bash blocks as commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the programs in the guide use torch")

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Files that the commands of the guide mention.
CLEAN = "import torch\n\ntorch.zeros(8)\n"
LEAK = """
import torch


class Node:
    def __init__(self):
        self.data = torch.zeros(8)
        self.me = self


Node()
"""
SCALE = """\
import torch


class Model:
    def __init__(self):
        self.weight = torch.ones(8)
        self._scale = lambda factor: factor * self.weight


Model()
"""
FILES = {
    "clean.py": CLEAN,
    "train.py": LEAK,
    "scale.py": SCALE,
    "tests/test_engine.py": LEAK.replace("Node()", "def test_node():\n    Node()"),
}


def blocks():
    for page in sorted((ROOT / "docs" / "guide").glob("*.md")):
        for number, block in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            yield pytest.param(*block.groups(), id=f"{page.stem}-{number}")


@pytest.mark.parametrize(("language", "text"), blocks())
def test_block_of_the_guide_runs(tmp_path, language, text):
    for name, contents in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(contents)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("CYCLEWATCH")
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    program = [sys.executable, "-c", text] if language == "python" else ["bash", "-ec", text]
    # The first command on the page about CI fails, because the tests leak.
    fails = "pytest --cyclewatch=fail tests" in text.splitlines()
    outcome = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert outcome.returncode == (1 if fails else 0), outcome.stdout + outcome.stderr
