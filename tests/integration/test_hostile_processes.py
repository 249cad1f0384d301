# SPDX-License-Identifier: Apache-2.0
"""Processes that fork, exit or are killed at inconvenient moments.

Each process exits in the same way as without a watch, and every report that it writes is complete.
"""

import subprocess
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "hostile_processes.py"
METHODS = ("fork", "forkserver", "spawn")

FORKS = (
    "fork_in_finalizer",
    "fork_in_gc_callback: start",
    "fork_in_gc_callback: stop",
    "fork_in_reader",
)
# Scenario -> exit status.
ENDS = {
    "thread_asleep_in_a_reader": 0,
    "leave_in_a_callback": 7,
    "leave_by_an_error": 1,
    "collect_during_finalization": 0,
    "signal_for_sigtimedwait": 0,
}


def reports_in(folder):
    """Map the process ID in each report to the report's retained bytes."""
    retained = {}
    for path in sorted(folder.glob("cyclewatch-*")):
        report = cyclewatch.Report.load(path)
        pid = report.processes[0].pid
        assert retained.setdefault(pid, report.retained_bytes) == report.retained_bytes, path
    return retained


def expected_reports(outcome):
    """Map each process ID in the scenario's output to its expected retained bytes."""
    return {int(line.split()[0]): int(line.split()[1]) for line in outcome.stdout.splitlines()}


def assert_no_crash(outcome):
    for text in ("Fatal", "terminate called", "not rethrown"):
        assert text not in outcome.stderr


@pytest.mark.parametrize(
    "scenario", [*FORKS, *(f"multiprocessing: {method}" for method in METHODS)]
)
def test_each_process_reports_its_own_cycles(interpreter, scenario, tmp_path):
    outcome = interpreter.run(PROGRAM, scenario, cwd=tmp_path)
    assert_no_crash(outcome)
    assert len(expected_reports(outcome)) >= 1 + (scenario in FORKS)
    assert reports_in(tmp_path) == expected_reports(outcome)
    # No temporary files are left.
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".html"}


@pytest.mark.parametrize("method", METHODS)
def test_each_data_loader_worker_reports_its_own_cycles(torch_interpreter, method, tmp_path):
    outcome = torch_interpreter.run(PROGRAM, f"data loader: {method}", cwd=tmp_path)
    expected, reports = expected_reports(outcome), reports_in(tmp_path)
    assert sum(expected.values()) == 6 * 8
    # The exit scan of the main process may find a cycle of torch itself.
    assert {pid: reports[pid] for pid in expected} == expected


def test_fork_while_the_report_is_written_does_not_hang(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "fork_while_the_report_is_written", cwd=tmp_path)
    assert reports_in(tmp_path) == expected_reports(outcome)


def test_fork_while_another_thread_collects(interpreter, tmp_path):
    if interpreter.free_threaded:
        pytest.skip("a child forked during another thread's collection cannot collect (CPython)")
    # The program checks the report of each child.
    assert_no_crash(interpreter.run(PROGRAM, "fork_while_another_thread_collects", cwd=tmp_path))
    assert len(reports_in(tmp_path)) >= 1


@pytest.mark.parametrize("scenario", ENDS)
def test_exit_status_is_unchanged_and_the_report_is_complete(interpreter, scenario, tmp_path):
    outcome = interpreter.run(PROGRAM, scenario, cwd=tmp_path, check=False)
    assert outcome.returncode == ENDS[scenario], outcome.stderr
    assert_no_crash(outcome)
    assert reports_in(tmp_path) == expected_reports(outcome)


def test_thread_that_stops_watches_during_finalization(interpreter, tmp_path):
    assert_no_crash(interpreter.run(PROGRAM, "thread_that_stops_watches", cwd=tmp_path))
    for path in tmp_path.glob("cyclewatch-*"):
        assert cyclewatch.Report.load(path).findings


def test_os_exit_leaves_no_incomplete_report(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "leave_at_once", cwd=tmp_path, check=False)
    assert outcome.returncode == 7, outcome.stderr
    for path in tmp_path.glob("cyclewatch-*"):
        assert cyclewatch.Report.load(path).retained_bytes == 8


def test_exit_in_a_signal_handler_leaves_a_complete_report(interpreter, tmp_path):
    process = subprocess.Popen(
        [interpreter.path, PROGRAM, "run_until_killed"],
        cwd=tmp_path,
        env=interpreter.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline() == "written\n"
    process.terminate()
    process.communicate(timeout=100)
    assert process.returncode == 7
    # The JSON file may contain more findings than the page, or fewer.
    paths = list(tmp_path.glob("cyclewatch-*"))
    assert {path.suffix for path in paths} == {".json", ".html"}
    for path in paths:
        assert cyclewatch.Report.load(path).retained_bytes > 0
