# SPDX-License-Identifier: Apache-2.0
"""One table of commands: parser, manual, reference, completion and environment agree with it."""

import importlib
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from cyclewatch.cli import completion_command, manual
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
    with open(ROOT / "pyproject.toml", "rb") as file:
        installed = tomllib.load(file)["tool"]["setuptools"]["data-files"]
    assert installed["share/man/man1"] == [str(manual.MANUAL_PAGE)]


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


def complete(*words):
    """What bash offers for the last word."""
    script = f"""{completion_command.bash()}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cyclewatch
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    command = ["bash", "-c", script, "bash", "cyclewatch", *words]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    assert outcome.stderr == ""
    return outcome.stdout.split()


def test_bash_completes():
    assert complete("ver") == ["verify"]
    assert complete("run", "--coll") == ["--collect-every", "--collect-at-exit"]
    assert complete("convert", "--to", "s") == ["svg"]
    assert complete("show", "--color", "") == ["auto", "always", "never"]
    # Bash cuts words at "=".
    assert complete("show", "--color", "=") == ["auto", "always", "never"]
    assert complete("convert", "--to", "=", "s") == ["svg"]
    assert complete("completion", "z") == ["zsh"]
    assert complete("show", "repo") == []  # bash offers files


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes(tmp_path):
    (tmp_path / "_cyclewatch").write_text(completion_command.zsh() + "\n")
    (tmp_path / "report.json").touch()
    # The shell in the terminal prints what a line was completed to when the line is entered.
    (tmp_path / "set_up").write_text(
        "PROMPT= fpath=($PWD $fpath); autoload -U compinit; compinit -D -u\n"
        'cyclewatch() { print "got<$*>" }\n'
    )
    script = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./set_up'
for words; do
    zpty -w shell "cyclewatch $words"$'\\t'
    zpty -r -m shell answer '*got<*>*'
    print -r -- ${${answer##*got<}%%>*}
done
"""
    completed = {
        "ver": "verify",
        "run --collect-e": "run --collect-every",
        "show --color n": "show --color never",
        "show --color=n": "show --color=never",
        "convert -ts": "convert -tsvg",
        "show --top 3 rep": "show --top 3 report.json",
        "completion z": "completion zsh",
    }
    outcome = subprocess.run(
        ["zsh", "-f", "-c", script, "zsh", *completed],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TERM": "dumb"},
        timeout=60,
    )
    assert outcome.stderr == ""
    assert outcome.stdout.splitlines() == list(completed.values())


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_understands_its_script(tmp_path):
    (tmp_path / "_cyclewatch").write_text(completion_command.zsh() + "\n")
    script = "fpath=($PWD $fpath); autoload -U compinit; compinit -D -u; whence -w _cyclewatch"
    for command in (["zsh", "-n", "_cyclewatch"], ["zsh", "-f", "-c", script]):
        outcome = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert (outcome.returncode, outcome.stderr) == (0, "")
