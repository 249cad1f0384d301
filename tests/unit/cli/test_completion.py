# SPDX-License-Identifier: Apache-2.0
"""What bash offers after a tab, and what the command says without shtab."""

import subprocess
import sys

import pytest

ASKED = """
source ./completion
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_cyclewatch cyclewatch "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ver"], ["verify"]),
        (["run", "--coll"], ["--collect-every", "--collect-at-exit"]),
        (["convert", "--to", "s"], ["svg"]),
        (["run", "trai"], ["train.py"]),
        (["run", "--output", "trai"], ["train.py"]),
        (["show", "trai"], ["train.py"]),
    ],
)
def test_bash_completes_commands_options_choices_and_files(command, tmp_path, words, offered):
    (tmp_path / "train.py").touch()
    (tmp_path / "completion").write_text(command("completion", "bash").out)
    outcome = subprocess.run(
        ["bash", "--norc", "-c", ASKED, "bash", "cyclewatch", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (outcome.stderr, outcome.stdout.split()) == ("", offered)


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_a_script(command, shell):
    outcome = command("completion", shell)
    assert (outcome.status, outcome.err) == (0, "")
    assert "collect-at-exit" in outcome.out


def test_completion_says_what_it_needs(command, monkeypatch):
    unknown = command("completion", "cmd.exe")
    assert unknown.status == 2
    assert "bash" in unknown.err
    monkeypatch.setitem(sys.modules, "shtab", None)
    outcome = command("completion", "bash")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err == "cyclewatch: completion needs shtab: pip install shtab\n"
