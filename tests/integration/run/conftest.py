# SPDX-License-Identifier: Apache-2.0
"""Fixtures: programs, run by python and by ``cyclewatch run``."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

LEAK = """
    import gc
    import torch

    class Node:
        def __init__(self):
            self.me = self
            self.data = torch.ones(1000)

    for _ in range(3):
        Node()
    gc.collect()
    print("done")
"""


@pytest.fixture
def python(tmp_path, tmp_path_factory):
    """Run the interpreter with and without the watch; both outcomes have to be equal."""
    site = tmp_path_factory.mktemp("site")
    # As in an installation: every start of the interpreter runs this line.
    (site / "sitecustomize.py").write_text(
        (ROOT / "cyclewatch" / "cyclewatch-autostart.pth").read_text()
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CYCLEWATCH", "RANK")) and name != "PYTHONDEVMODE"
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT)])

    class Python:
        executable = sys.executable

        def start(self, *words, stdin=None, folder=tmp_path, **more):
            return subprocess.run(
                [self.executable, *map(os.fspath, words)],
                capture_output=True,
                timeout=300,
                cwd=folder,
                input=stdin,
                env={**environment, **more},
            )

        def both(self, *words, options=(), stdin=None, **more):
            plain = self.start(*words, stdin=stdin, **more)
            watched = self.run("--quiet", *options, *words, stdin=stdin, **more)
            assert watched.stdout == plain.stdout
            assert watched.stderr == plain.stderr
            assert watched.returncode == plain.returncode
            return watched

        def run(self, *words, **more):
            return self.start("-m", "cyclewatch", "run", *words, **more)

    return Python()


@pytest.fixture
def program(tmp_path):
    """Write a program under a name and return its path."""

    def write(source, name="program.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


@pytest.fixture
def leak():
    """A program that leaves three cycles, of one finding."""
    return LEAK
