# SPDX-License-Identifier: Apache-2.0
"""Fixtures: reports, and a function that runs a command."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from cyclewatch.cli import main

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


class Outcome(NamedTuple):
    """The result of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capfdbinary, tmp_path, monkeypatch):
    """Runs a command in an empty directory."""
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
    """Writes a copy of the report with modified JSON."""

    def write(name, change):
        data = json.loads(report.read_text())
        change(data)
        path = tmp_path / name
        path.write_text(json.dumps(data))
        return path

    return write
