# SPDX-License-Identifier: Apache-2.0
"""Processes and threads that begin or end at the worst moment, each with a stated outcome.

Whatever happens: the process ends as it would without a watch, within the time, and the files
left behind are whole. The acts say on stdout which processes held how many bytes.
"""

import signal
import subprocess
from pathlib import Path

import pytest

import cyclewatch

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = PROGRAMS / "hostile_processes.py"
ROOT = Path(__file__).resolve().parents[2]

FORKS = (
    "fork_in_finalizer",
    "fork_in_weakref_callback",
    "fork_in_gc_callback: start",
    "fork_in_gc_callback: stop",
    "fork_in_reader",
)
WORKERS = tuple(f"multiprocessing: {method}" for method in ("fork", "forkserver", "spawn"))
LOADERS = tuple(f"data loader: {method}" for method in ("fork", "forkserver", "spawn"))
# Act -> exit status. Those that end by os._exit() promise no report, all others a complete one.
ENDS = {
    "thread_asleep_in_a_reader": 0,
    "thread_asleep_in_a_finalizer": 0,
    "leave_in_a_callback": 7,
    "leave_by_an_error": 1,
    "leave_from_a_thread": 0,
    "thread_that_ends_while_another_one_collects": 0,
    "exit_handlers_that_leak": 0,
    "collect_while_the_interpreter_ends": 0,
    "signal_that_the_program_takes_itself": 0,
}


def reports_in(folder):
    """Process id -> retained bytes, of every report; each of them has to be whole."""
    held = {}
    for path in sorted(folder.glob("cyclewatch-*")):
        report = cyclewatch.Report.load(path)
        pid = report.processes[0].pid
        assert held.setdefault(pid, report.retained_bytes) == report.retained_bytes, path
    return held


def told(outcome):
    """Process id -> bytes, as the act printed them."""
    return {int(line.split()[0]): int(line.split()[1]) for line in outcome.stdout.splitlines()}


def no_crash(outcome):
    assert "Fatal" not in outcome.stderr
    assert "terminate called" not in outcome.stderr
    assert "not rethrown" not in outcome.stderr


@pytest.mark.parametrize("act", [*FORKS, *WORKERS])
def test_each_process_reports_its_own_and_all_of_it(interpreter, act, tmp_path):
    outcome = interpreter.run(PROGRAM, act, cwd=tmp_path)
    no_crash(outcome)
    assert len(told(outcome)) >= 1 + (act in FORKS)
    assert reports_in(tmp_path) == told(outcome)
    # Nothing half written beside them.
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".html"}


@pytest.mark.parametrize("act", LOADERS)
def test_each_worker_of_a_data_loader_reports_its_own(torch_interpreter, act, tmp_path):
    outcome = torch_interpreter.run(PROGRAM, act, cwd=tmp_path)
    assert sum(told(outcome).values()) == 6 * 8
    assert reports_in(tmp_path) == told(outcome)


def test_child_of_a_process_whose_report_is_being_written_does_not_hang(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "fork_while_the_report_is_written", cwd=tmp_path)
    assert reports_in(tmp_path) == told(outcome)


def test_child_of_a_process_that_collects_on_another_thread(interpreter, tmp_path):
    if interpreter.free_threaded:
        pytest.skip("a child forked amid another thread's collection never collects: CPython's")
    # Each child checks its own report and says so by its status, which the program checks.
    no_crash(interpreter.run(PROGRAM, "fork_while_another_thread_collects", cwd=tmp_path))
    assert len(reports_in(tmp_path)) >= 1


@pytest.mark.parametrize("act", ENDS)
def test_program_ends_as_it_would_and_its_report_is_complete(interpreter, act, tmp_path):
    outcome = interpreter.run(PROGRAM, act, cwd=tmp_path, check=False)
    assert outcome.returncode == ENDS[act], outcome.stderr
    no_crash(outcome)
    assert reports_in(tmp_path) == told(outcome)


def test_thread_that_starts_and_stops_watches_while_the_program_ends(interpreter, tmp_path):
    no_crash(interpreter.run(PROGRAM, "thread_that_stops_the_watch_for_ever", cwd=tmp_path))
    # Whatever was finished by then, a page perhaps and not the JSON of the same findings.
    for path in tmp_path.glob("cyclewatch-*"):
        assert cyclewatch.Report.load(path).findings


@pytest.mark.parametrize("act", ["leave_at_once", "leave_in_a_finalizer"])
def test_program_that_leaves_at_once_leaves_no_half_report(interpreter, act, tmp_path):
    outcome = interpreter.run(PROGRAM, act, cwd=tmp_path, check=False)
    assert outcome.returncode == 7, outcome.stderr
    for path in tmp_path.glob("cyclewatch-*"):
        assert cyclewatch.Report.load(path).retained_bytes == 8


@pytest.mark.parametrize(
    ("act", "status"), [("run_until_killed", -signal.SIGTERM), ("run_until_killed: handler", 7)]
)
def test_terminated_program_leaves_a_whole_report(interpreter, act, status, tmp_path):
    process = subprocess.Popen(
        [interpreter.path, PROGRAM, act],
        cwd=tmp_path,
        env=interpreter.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline() == "written\n"
    process.terminate()
    process.communicate(timeout=100)
    assert process.returncode == status
    # One file may be a state further than the other, but each is whole.
    paths = list(tmp_path.glob("cyclewatch-*"))
    assert {path.suffix for path in paths} == {".json", ".html"}
    for path in paths:
        assert cyclewatch.Report.load(path).retained_bytes > 0
