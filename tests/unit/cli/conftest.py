# SPDX-License-Identifier: Apache-2.0
"""Fixtures: reports, a function that runs a command, and a process to examine."""

import json
import os
import shutil
import subprocess
import sys
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


CHILD = """\
import atexit, gc, sys, threading
make = bytearray
if sys.argv[1:] == ["torch"]:
    import torch
    make = torch.ones
gc.disable()
losses = [make(1000)]

class Node:
    pass

def drop():
    node = Node()
    node.me = node
    node.data = make(500)

def traces():
    numbers = [len(gc.callbacks), threading.active_count(), atexit._ncallbacks(), gc.isenabled()]
    return [list(sys.modules), numbers, list(sys.path), list(globals())]

drop()
line = file = before = after = None
before = traces()
print("ready", flush=True)
for line in sys.stdin:
    with open(line.strip(), encoding="utf-8") as file:
        exec(compile(file.read(), "script", "exec"), {})
    after = traces()
    print([new for old, new in zip(before, after) if old != new], flush=True)
"""


class Child:
    """A Python process that reads the path of a script from stdin and executes the script."""

    def __init__(self, *arguments):
        # In development mode, CPython imports each codec whose name it checks.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDEVMODE"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def execute(self, script):
        print(script, file=self.process.stdin, flush=True)
        return self.process.stdout.readline()


@pytest.fixture
def child(request):
    libraries = getattr(request, "param", [])
    for name in libraries:
        pytest.importorskip(name)
    child = Child(*libraries)
    yield child
    child.process.kill()
    child.process.communicate()


@pytest.fixture
def remote_exec(monkeypatch, child):
    """Installs a fake sys.remote_exec() that records its calls and has the child run the script."""
    calls = []

    def execute(pid, script):
        calls.append((pid, script))
        assert child.execute(script) == "[]\n"  # leaves no traces

    monkeypatch.setattr(sys, "remote_exec", execute, raising=False)
    return calls
