# SPDX-License-Identifier: Apache-2.0
"""Terminal output: escaped control characters, color, closed pipes and the progress bar."""

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = [
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "a\r\n\x08b\x00",
    "\u202egnp.exe\u2066",
    "\ud800lone\udfff",
    "</script><img src=x onerror=alert(1)>",
    "#1  1 GiB in 1 cycle",
    "A" * 10_000,
]
SIGNATURE = "cw1-3f0a9c1be27d4458"


def poison(value, name):
    if isinstance(value, dict):
        return {key: each if key in KEPT else poison(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [poison(each, name) for each in value]
    return f"{value}{name}" if isinstance(value, str) else value


CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")
KEPT = ("schema", "signature", "pattern", "status", "collected", "verdict", "source")
KEPT += ("unit", "kind", "category", "occasion")


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_hostile_names_are_escaped_by_every_command(command, report, tmp_path, name):
    data = poison(json.loads(report.read_text()), name)
    hostile = tmp_path / "hostile.json"
    hostile.write_text(json.dumps(data))
    commands = [
        ("show", hostile),
        ("show", hostile, "--json"),
        ("diff", report, hostile),
        ("diff", hostile, report, "--json"),
        ("verify", report, hostile, "-e", SIGNATURE),
        ("explain", SIGNATURE, hostile),
        ("merge", hostile),
        ("strip", "--names", "--paths", hostile),
        *(("convert", hostile, "-o", "-", "-t", to) for to in ("text", "dot", "svg")),
        ("show", hostile, "-s", f"cw1-{name}"),
        ("explain", name),
        ("show", f"missing{name}".replace("\x00", "")),
    ]
    for words in commands:
        outcome = command(*words)
        for text in (outcome.out, outcome.err):
            unescaped = {each for each in text if unicodedata.category(each) in CONTROL}
            assert unescaped <= {"\n", "\t"}, words  # Graphviz indents with tabs
            if words[-1] == "svg":
                assert "<img" not in text


def in_terminal(words, tmp_path, **environment):
    """The output of a command that runs in a pseudo-terminal."""
    receiver, terminal = pty.openpty()
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": paths, **environment}
    variables = {name: value for name, value in variables.items() if value is not None}
    with subprocess.Popen(
        [sys.executable, "-m", "cyclewatch", *map(str, words)],
        stdout=terminal,
        stderr=terminal,
        cwd=tmp_path,
        env=variables,
    ) as process:
        os.close(terminal)
        received = b""
        # Linux reports an error instead of end-of-file.
        try:
            while part := os.read(receiver, 4096):
                received += part
        except OSError:
            pass
        os.close(receiver)
    assert process.returncode == 0
    return received.decode().replace("\r\n", "\n")


def test_colour_is_used_only_on_terminals(command, report, tmp_path):
    plain = command("show", report, "--width", 100).out
    coloured = in_terminal(["show", report, "--width", 100], tmp_path, NO_COLOR=None)
    assert "\x1b[1;31mcut\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert in_terminal(["show", report, "--width", 100], tmp_path, NO_COLOR="1") == plain
    assert in_terminal(["show", report, "--width", 100, "--color", "never"], tmp_path) == plain


def in_shell(line, tmp_path, *words):
    """Run the shell script `line`, in which "$@" is the command; return its status and stderr."""
    outcome = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "cyclewatch", *map(str, words)],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return outcome.returncode, outcome.stderr.decode()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["show", "report.json"], 0),
        (["show", "report.json", "--color", "always"], 0),
        (["show", "report.json", "--json"], 0),
        (["--help"], 0),
        (["verify", "report.json", "report.json", "-e", SIGNATURE], 1),
    ],
)
@pytest.mark.parametrize("buffered", ["", "1"])
def test_closed_pipe_does_not_change_the_status(report, tmp_path, words, status, buffered):
    receiver, sender = os.pipe()
    os.close(receiver)
    try:
        outcome = subprocess.run(
            [sys.executable, "-m", "cyclewatch", *words],
            stdout=sender,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": buffered},
        )
    finally:
        os.close(sender)
    assert (outcome.returncode, outcome.stderr) == (status, b"")


def test_closed_or_full_standard_streams(report, tmp_path):
    assert in_shell('"$@" >&-', tmp_path, "show", report) == (0, "")
    closed_output = "cyclewatch: cannot write to standard output: it is closed\n"
    assert in_shell('"$@" >&-', tmp_path, "merge", report) == (3, closed_output)
    assert in_shell('"$@" >&-', tmp_path, "show", report, "--json") == (3, closed_output)
    assert in_shell('"$@" 2>&-', tmp_path, "show", "missing.json") == (3, "")
    assert in_shell('"$@" 2>/dev/full', tmp_path, "show", "missing.json") == (3, "")
    closed = "cyclewatch: cannot read standard input: it is closed\n"
    assert in_shell('"$@" <&-', tmp_path, "show", "-") == (3, closed)
    full = "cyclewatch: cannot write to standard output: No space left on device\n"
    for words in (["show", report], ["show", report, "--json"], ["merge", report], ["--help"]):
        assert in_shell('"$@" >/dev/full', tmp_path, *words) == (3, full)
