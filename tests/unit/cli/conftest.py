# SPDX-License-Identifier: Apache-2.0
"""Reports to give to commands, and a way to give them."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from cyclewatch.cli import main

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


class Outcome(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capfdbinary, tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        capfdbinary.readouterr()
        status = main([str(word) for word in words])
        return Outcome(status, *(each.decode() for each in capfdbinary.readouterr()))

    return run


@pytest.fixture
def report(tmp_path):
    """A report with three findings."""
    return Path(shutil.copy(GOLDEN / "report.json", tmp_path / "report.json"))


@pytest.fixture
def changed(report, tmp_path):
    """Write a copy of the report after a function has changed its JSON."""

    def write(name, change):
        data = json.loads(report.read_text())
        change(data)
        path = tmp_path / name
        path.write_text(json.dumps(data))
        return path

    return write
