# SPDX-License-Identifier: Apache-2.0
"""Manual page, reference, settings and modules agree with the parser."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cyclewatch.cli.options import WATCH_SETTINGS
from cyclewatch.cli.parser import commands, make_parser

ROOT = Path(__file__).resolve().parents[3]
REMEDY = "run: .venv/bin/python scripts/manual.py"

made_by_this_version = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="every version of argparse prints usage differently"
)


@pytest.fixture
def manual(monkeypatch):
    """The script that writes both."""
    monkeypatch.setenv("COLUMNS", "100")
    spec = importlib.util.spec_from_file_location("manual", ROOT / "scripts" / "manual.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@made_by_this_version
def test_the_manual_page_is_current(manual):
    assert manual.MANUAL_PAGE.read_text() == manual.manual_page(), REMEDY


@made_by_this_version
def test_the_reference_is_current(manual):
    page = manual.REFERENCE.read_text()
    assert page == manual.with_reference(page), REMEDY


def test_the_manual_page_is_installed(manual):
    build = (ROOT / "CMakeLists.txt").read_text()
    assert f"install(FILES {manual.MANUAL_PAGE.relative_to(ROOT)} DESTINATION" in build


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_the_manual_page_is_good_troff():
    outcome = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", ROOT / "docs/man/cyclewatch.1"],
        capture_output=True,
        text=True,
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    for name in commands(make_parser()):
        assert f"cyclewatch {name}" in outcome.stdout


@pytest.mark.parametrize("name", commands(make_parser()))
def test_every_command_is_explained_and_done(command, name):
    assert importlib.import_module(f"cyclewatch.cli.{name}_command").main
    with pytest.raises(SystemExit) as ended:
        command(name, "--help")
    assert ended.value.code == 0


def test_run_has_an_option_for_every_setting():
    run = commands(make_parser())["run"]
    defaults = {action.dest: action.default for action in run._actions}
    assert {name: defaults[name] for name in WATCH_SETTINGS} == {
        name: default for name, (_, default) in WATCH_SETTINGS.items()
    }
