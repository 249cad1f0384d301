# SPDX-License-Identifier: Apache-2.0
"""The manual page, the command-line reference and the settings are consistent with the parser."""

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

import cyclewatch
from cyclewatch.cli.parser import commands, make_parser
from cyclewatch.settings.table import RUN, setting_of, settings_of

ROOT = Path(__file__).resolve().parents[3]
REMEDY = "run: .venv/bin/python scripts/manual.py"


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the format of argparse depends on the version"
)
def test_manual_page_and_reference_are_current(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    spec = importlib.util.spec_from_file_location("manual", ROOT / "scripts" / "manual.py")
    manual = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manual)
    assert manual.MANUAL_PAGE.read_text() == manual.manual_page(), REMEDY
    assert manual.SETTINGS.read_text() == manual.settings_page(), REMEDY
    page = manual.REFERENCE.read_text()
    assert page == manual.with_reference(page), REMEDY


@pytest.mark.parametrize("name", commands(make_parser()))
def test_every_command_has_a_module_and_help(command, name):
    assert importlib.import_module(f"cyclewatch.cli.{name}_command").main
    with pytest.raises(SystemExit) as ended:
        command(name, "--help")
    assert ended.value.code == 0


def test_run_has_an_option_for_every_setting():
    run = commands(make_parser())["run"]
    defaults = {action.dest: action.default for action in run._actions}
    expected = {each.name: each.default for each in settings_of(RUN)}
    assert {name: defaults[name] for name in expected} == expected


@pytest.mark.parametrize(
    "function",
    [cyclewatch.watch, cyclewatch.warn_tensor_cycles, cyclewatch.observe_tensor_cycles],
)
def test_functions_have_the_defaults_of_the_settings(function):
    parameters = inspect.signature(function).parameters
    for name in ("min_bytes", "budget", "steps", "repeat", "record_history"):
        if name in parameters:
            assert parameters[name].default == setting_of(name, RUN).default
    assert [parameters["devices"].default] == setting_of("devices", RUN).default
    for name, switch in (("source_lines", "no_source"), ("exit_scan", "no_exit_scan")):
        if name in parameters:
            assert parameters[name].default is not setting_of(switch, RUN).default


def test_completion_needs_shtab(command, monkeypatch):
    assert "collect-at-exit" in command("completion", "bash").out
    assert command("completion", "cmd.exe").status == 2
    monkeypatch.setitem(sys.modules, "shtab", None)
    outcome = command("completion", "bash")
    assert (outcome.status, outcome.out) == (3, "")
    assert "pip install shtab" in outcome.err
