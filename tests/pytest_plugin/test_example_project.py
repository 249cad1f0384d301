# SPDX-License-Identifier: Apache-2.0
"""The output of the example project matches docs/pytest.md."""

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

# Commands on the page and their exit status.
RUNS = {"pytest": 1}


def shown(output, folder):
    """The output without progress and times, with /app as the folder."""
    text = output.replace(str(folder), "/app")
    text = re.sub(r" in \d+\.\d+s", "", text)
    text = re.sub(r"unreachable for up to [\d.]+ \w+", "unreachable for up to 1 ms", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if not re.fullmatch(r"[.F]+ +\[100%\]", line))


def examples_on_the_page():
    """Command and output of each code block that begins with ``$ ``."""
    return re.findall(r"^```\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), flags=re.M | re.S)


@pytest.fixture
def short_folder():
    """A folder with a short path, which cards do not abbreviate."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.mark.parametrize("command", RUNS)
def test_page_shows_the_output(command, short_folder):
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
    assert normalised(output) == normalised(expected), "set CYCLEWATCH_UPDATE_PAGES=1 to update"


def normalised(text):
    """The text without line breaks, which depend on the lengths of paths."""
    return " ".join(text.split())
