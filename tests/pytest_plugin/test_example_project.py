# SPDX-License-Identifier: Apache-2.0
"""The sample project of docs/pytest.md prints what the page shows."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "pytest.md"

# The exit status of each run that the page shows.
RUNS = {"pytest": 1}


def shown(output, folder):
    """What the page keeps of an output: no progress, no times, and /app for the folder."""
    text = output.replace(str(folder), "/app")
    text = re.sub(r" in \d+\.\d+s", "", text)
    text = re.sub(r"unreachable for up to [\d.]+ \w+", "unreachable for up to 1 ms", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if not re.fullmatch(r"[.F]+ +\[100%\]", line))


def examples_on_the_page():
    """Command and output of each block of the page that begins with ``$ ``."""
    return re.findall(r"^```\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), flags=re.M | re.S)


@pytest.fixture
def short_folder():
    """A folder whose path is so short that no card leaves out a part of it."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.mark.parametrize("command", RUNS)
def test_page_shows_what_the_run_says(command, short_folder):
    folder = short_folder / "app"
    shutil.copytree(ROOT / "examples" / "pytest_project", folder)
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), "-q", "-pno:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == RUNS[command], done.stdout + done.stderr
    output = shown(done.stdout, folder)
    expected = dict(examples_on_the_page())[command]
    if os.environ.get("CYCLEWATCH_UPDATE_PAGES") == "1":
        old, new = (f"$ {command}\n{text}" for text in (expected, f"{output}\n"))
        PAGE.write_text(PAGE.read_text().replace(old, new))
        return
    assert normalised(output) == normalised(expected), "CYCLEWATCH_UPDATE_PAGES=1 writes it anew"


def normalised(text):
    """Without the way a card breaks its lines, which depends on how long the paths are."""
    return " ".join(text.split())
