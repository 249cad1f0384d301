# SPDX-License-Identifier: Apache-2.0
"""What a real bash and a real zsh offer after a tab."""

import os
import pty
import re
import shutil
import subprocess

import pytest

import cyclewatch
from cyclewatch.cli import completion_command
from cyclewatch.cli.table import DEVICES

NO_FILES = ["(no files)"]
FORMATS = ["text", "json", "dot", "svg", "html"]

needs_zsh = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")


def complete(*words):
    """What bash offers for the last word; nothing means that it offers files."""
    script = f"""{completion_command.bash()}
compopt() {{ NO_FILES=$2; }}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cyclewatch
printf '%s\\n' "${{COMPREPLY[@]}}"
[ "$NO_FILES" = default ] && echo '(no files)'
"""
    command = ["bash", "-c", script, "bash", "cyclewatch", *words]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert outcome.stderr == ""
    return [line for line in outcome.stdout.splitlines() if line]


def test_bash_completes():
    assert complete("ver") == ["verify"]
    assert complete("--v") == ["--version"]
    assert complete("run", "--coll") == ["--collect-every", "--collect-at-exit"]
    assert complete("convert", "--to", "s") == ["svg"]
    assert complete("show", "--color", "") == ["auto", "always", "never"]
    # Bash cuts words at "=".
    assert complete("show", "--color", "=") == ["auto", "always", "never"]
    assert complete("convert", "--to", "=", "s") == ["svg"]
    assert complete("completion", "z") == ["zsh"]
    assert complete("show", "repo") == []


def test_bash_offers_values_and_files_only_where_one_is_meant():
    assert complete("run", "--format", "") == FORMATS
    assert complete("run", "--format", "=", "json,h") == ["json,html"]
    assert complete("run", "--devices", "cpu,cu") == ["cpu,cuda"]
    assert complete("run", "--budget", "") == NO_FILES
    assert complete("show", "--top", "") == NO_FILES
    assert complete("show", "-s", "") == NO_FILES
    assert complete("run", "-o", "") == []
    assert complete("run", "--output", "=", "") == []


def test_bash_knows_where_the_program_of_run_begins():
    assert "-m" in complete("run", "-")
    assert "-c" in complete("run", "--fail", "-")
    assert complete("run", "-m", "") == NO_FILES
    assert complete("run", "-c", "") == NO_FILES
    for before in (["train.py"], ["-m", "train"], ["-mtrain"], ["-c", "1"], ["--", "t.py"], ["-"]):
        assert complete("run", *before, "--f") == []
        assert complete("run", "--format", "json", "-q", *before, "--f") == []
    assert complete("run", "--format", "=", "json", "--fo") == [
        "--format",
        "--follow-fork",
        "--force",
    ]


def test_bash_offers_the_patterns_to_explain():
    ids = sorted(pattern.id for pattern in cyclewatch._native.patterns())
    assert "closure-captures-self" in ids
    assert complete("explain", "") == ids
    assert complete("explain", "--json", "closure-captures-s") == ["closure-captures-self"]
    # The second argument is a report.
    assert complete("explain", "cw1-0123456789abcdef", "") == []


def test_words_that_are_offered_are_understood():
    cyclewatch.watch(devices=DEVICES[2:]).stop()
    for name in DEVICES[:2]:
        cyclewatch.watch(devices=name).stop()
    assert cyclewatch._native.format_names() == FORMATS


COMPLETED = {
    "ver": "verify",
    "run --collect-e": "run --collect-every",
    "show --color n": "show --color never",
    "show --color=n": "show --color=never",
    "show --top 3 rep": "show --top 3 report.json",
    "show --top rep": "show --top rep",
    "completion z": "completion zsh",
    "run --format js": "run --format json",
    "run --format=json,sv": "run --format=json,svg",
    "run --devices cu": "run --devices cuda",
    "run --budget rep": "run --budget rep",
    "run rep": "run report.json",
    "run rep.py --foll": "run rep.py --foll",
    "run rep.py rep": "run rep.py report.json",
    "run -m rep": "run -m rep",
    "run -m train rep": "run -m train report.json",
    "run -m train --foll": "run -m train --foll",
    "run -c 1 rep": "run -c 1 report.json",
    "explain closure-captures-s": "explain closure-captures-self",
    "explain closure-captures-self rep": "explain closure-captures-self report.json",
}


def read_until(terminal, pattern):
    """What the program behind the terminal prints, up to the pattern."""
    text = ""
    while not (found := re.search(pattern, text)):
        text += os.read(terminal, 4096).decode()
    return found


def test_bash_completes_what_is_typed(tmp_path):
    (tmp_path / "report.json").touch()
    (tmp_path / "set_up").write_text(
        f'{completion_command.bash()}\nPS1=\ncyclewatch() {{ echo "got<$*>"; }}\necho ready\n'
    )
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.environ["TERM"] = "dumb"
        os.execvp("bash", ["bash", "--noprofile", "--norc", "-i"])
    try:
        os.write(terminal, b"source ./set_up\n")
        read_until(terminal, r"\nready\r")
        for typed, completed in COMPLETED.items():
            os.write(terminal, f"cyclewatch {typed}\t\n".encode())
            assert read_until(terminal, r"got<(.*?)>")[1] == completed
    finally:
        os.write(terminal, b"\3\nexit\n")
        os.waitpid(process, 0)
        os.close(terminal)


def zsh_completes(set_up, folder):
    """What zsh makes of each line of COMPLETED and a tab, after the set-up."""
    (folder / "_cyclewatch").write_text(completion_command.zsh() + "\n")
    (folder / "report.json").touch()
    # The shell in the terminal prints what a line was completed to when the line is entered.
    (folder / "set_up").write_text(
        f'PROMPT=\n{set_up}\ncyclewatch() {{ print "got<$*>" }}\n',
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
    outcome = subprocess.run(
        ["zsh", "-f", "-c", script, "zsh", *COMPLETED],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "TERM": "dumb"},
        timeout=60,
    )
    assert outcome.stderr == ""
    return outcome.stdout.splitlines()


@needs_zsh
@pytest.mark.parametrize(
    "set_up",
    [
        "fpath=($PWD $fpath); autoload -U compinit; compinit -D -u",
        'autoload -U compinit; compinit -D -u; eval "$(<_cyclewatch)"',
    ],
    ids=["file", "evaluated"],
)
def test_zsh_completes_what_is_typed(tmp_path, set_up):
    assert zsh_completes(set_up, tmp_path) == list(COMPLETED.values())


@needs_zsh
def test_zsh_understands_its_script(tmp_path):
    (tmp_path / "_cyclewatch").write_text(completion_command.zsh() + "\n")
    script = "fpath=($PWD $fpath); autoload -U compinit; compinit -D -u; whence -w _cyclewatch"
    for command in (["zsh", "-n", "_cyclewatch"], ["zsh", "-f", "-c", script]):
        outcome = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert (outcome.returncode, outcome.stderr) == (0, "")
