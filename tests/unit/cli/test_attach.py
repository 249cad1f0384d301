# SPDX-License-Identifier: Apache-2.0
"""cyclewatch attach: the script that runs in the other process, and the error messages.

sys.remote_exec() is replaced, so that the tests run on every version. The last test uses it.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

import cyclewatch
from cyclewatch.cli import remote_process


@pytest.mark.parametrize("child", [["torch"]], indirect=True)
def test_report_of_a_process_that_does_not_use_cyclewatch(command, remote_exec, child, tmp_path):
    for name in ("first.json", "second.json"):  # loads the extension twice
        outcome = command("attach", str(child.pid), "--devices", "cpu", "-o", tmp_path / name)
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out == f"{tmp_path / name}\n"
        report = cyclewatch.Report.load(tmp_path / name)
        assert [each.retained_bytes for each in report.findings] == [2000]
        assert report.processes[0].pid == child.pid
        (owner,) = [each for each in report.live_owners if each.shape == (1000,)]
        assert str(owner.held_by[0]) == "module global __main__.losses -> losses[0]"
    assert len(remote_exec) == 2
    assert not os.path.exists(os.path.dirname(remote_exec[0][1]))
    text = command("show", tmp_path / name, "--width", "200").out
    assert "s into the run:\n  3.9 KiB: 1 x torch.Tensor [1000] float32 on cpu, other, " in text
    assert "\nAlive at " in report.to_html()


def test_error_in_the_process(command, remote_exec, child, tmp_path):
    outcome = command("attach", str(child.pid), "--devices", "nonsense", "-o", tmp_path / "x.json")
    assert outcome.status == 3
    assert f"process {child.pid} cannot be examined: " in outcome.err
    assert "nonsense" in outcome.err
    assert not (tmp_path / "x.json").exists()


def test_another_build_of_the_interpreter(command, remote_exec, child, monkeypatch, tmp_path):
    suffix = remote_process.EXTENSION_SUFFIXES[0]
    monkeypatch.setattr(remote_process, "EXTENSION_SUFFIXES", [".another-build.so"])
    outcome = command("attach", str(child.pid), "-o", tmp_path / "x.json")
    expected = (
        f"process {child.pid} cannot be examined: it runs another build of CPython ({suffix})"
    )
    assert (outcome.status, outcome.err) == (3, f"cyclewatch: {expected}\n")


def message(command, pid, *options):
    outcome = command("attach", str(pid), "-o", "-", *options)
    assert outcome.status == 3
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    return line.removeprefix("cyclewatch: ")


@pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="this version has sys.remote_exec()")
def test_older_interpreter_here(command):
    here = ".".join(map(str, sys.version_info[:2]))
    expected = f"attach needs CPython 3.14 or later, but this is Python {here}"
    assert message(command, os.getpid()) == expected


@pytest.fixture
def ignored(monkeypatch):
    """Installs a fake sys.remote_exec() that only records its calls."""
    calls = []
    monkeypatch.setattr(sys, "remote_exec", lambda *call: calls.append(call), raising=False)
    return calls


def test_older_interpreter_there(command, ignored, child, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    there = ".".join(map(str, (sys.hexversion >> 24, sys.hexversion >> 16 & 255)))
    assert message(command, child.pid).startswith(f"process {child.pid} runs Python {there}")


def test_process_that_is_not_python(command, ignored):
    process = subprocess.Popen(["sleep", "100"])
    try:
        expected = f"process {process.pid} does not run CPython"
        assert message(command, process.pid) == expected
    finally:
        process.kill()
        process.wait()
    assert message(command, process.pid) == f"there is no process {process.pid}"


def test_process_that_has_ended(command, ignored, child):
    child.process.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # remains a zombie
    assert message(command, child.pid) == f"process {child.pid} has ended"


def test_stopped_process(command, ignored, child):
    child.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    expected = f"process {child.pid} is stopped; continue it first (kill -CONT {child.pid})"
    assert message(command, child.pid) == expected


def test_main_thread_that_runs_no_python_code(command, ignored, child):
    expected = f"the main thread of process {child.pid} has not run Python code for 0.001 seconds"
    assert message(command, child.pid, "--timeout", "0.001").startswith(expected)
    assert ignored[-1] == (child.pid, os.devnull)  # the script is withdrawn


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError("no"), "the system does not permit access to the memory of process"),
        (RuntimeError("no debug offsets"), "cannot attach to process {}: no debug offsets"),
        (
            RuntimeError("Remote debugging is not enabled"),
            "cannot attach to process {}: Remote debugging is not enabled (this process has "
            "PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug)",
        ),
        (
            RuntimeError("Remote debugging is not enabled in the remote process"),
            "cannot attach to process {0}: Remote debugging is not enabled in the remote process "
            "(process {0} has PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug)",
        ),
    ],
)
def test_errors_of_remote_exec(command, child, monkeypatch, error, expected):
    def fail(*_):
        raise error

    monkeypatch.setattr(sys, "remote_exec", fail, raising=False)
    assert message(command, child.pid).startswith(expected.format(child.pid))


def test_another_user(command, ignored, child, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    expected = (
        f"process {child.pid} belongs to another user (uid {os.getuid()}); attach as that user"
    )
    assert message(command, child.pid) == expected


def test_another_mount_namespace(command, ignored, child, monkeypatch, tmp_path):
    monkeypatch.setattr(os.path, "samefile", lambda *_: False)
    line = message(command, child.pid)
    assert line.startswith(f"process {child.pid} cannot access /")
    assert line.endswith("is in another mount namespace; run cyclewatch attach in its container")


def test_existing_file_is_not_replaced(command, ignored, child, tmp_path):
    existing = tmp_path / "x.json"
    existing.write_text("{}")
    outcome = command("attach", str(child.pid), "-o", existing)
    assert (outcome.status, ignored) == (3, [])
    assert "use --force" in outcome.err


@pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec() is new in 3.14")
def test_real_process(command, tmp_path):
    loop = "print('ready', flush=True)\nwhile True: pass\n"
    process = subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        outcome = command("attach", str(process.pid), "-o", tmp_path / "x.json")
        assert (outcome.status, outcome.err) == (0, "")
        assert json.loads((tmp_path / "x.json").read_text())["live_owners"] == []
    finally:
        process.kill()
        process.communicate()
