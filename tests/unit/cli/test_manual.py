# SPDX-License-Identifier: Apache-2.0
"""One table of commands: parser, manual, reference and environment agree with it."""

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest

from cyclewatch.cli import manual
from cyclewatch.cli.parser import make_parser
from cyclewatch.cli.table import COMMANDS, WATCH_OPTIONS

ROOT = Path(__file__).resolve().parents[3]
REMEDY = "run: python -m cyclewatch.cli.manual"


def test_the_manual_page_is_current():
    assert (ROOT / manual.MANUAL_PAGE).read_text() == manual.manual_page(), REMEDY


def test_the_reference_is_current():
    page = (ROOT / manual.REFERENCE).read_text()
    assert page == manual.with_reference(page), REMEDY


def test_the_manual_page_is_installed():
    build = (ROOT / "CMakeLists.txt").read_text()
    assert f"install(FILES {manual.MANUAL_PAGE} DESTINATION" in build


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_the_manual_page_is_good_troff():
    outcome = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", ROOT / manual.MANUAL_PAGE],
        capture_output=True,
        text=True,
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    for command in COMMANDS:
        assert f"CYCLEWATCH {command.name.upper()}" in outcome.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_explained_and_done(command, capsys):
    assert importlib.import_module(f"cyclewatch.cli.{command.module}").main
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args([command.name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for option in command.options:
        assert option.flags[-1] in text


def test_every_option_of_the_watch_has_a_variable():
    for option in WATCH_OPTIONS:
        assert option.environment == f"CYCLEWATCH_{option.name.upper()}"
