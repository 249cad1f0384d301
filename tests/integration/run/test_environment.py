# SPDX-License-Identifier: Apache-2.0
"""Whole programs that the environment has watched: CYCLEWATCH=1."""

import shlex
import sys
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[3]


def test_the_environment_switches_the_watch_on(python, program, tmp_path, leak):
    program(leak)
    outcome = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_OUTPUT="{script}.json")
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
    assert f"report: {tmp_path}/program.json\n" in outcome.stderr.decode()
    assert cyclewatch.Report.load(tmp_path / "program.json").findings[0].occurrences == 3
    wrong = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_BUDGET="9")
    assert (wrong.returncode, wrong.stdout) == (0, b"done\n")
    assert wrong.stderr.count(b"CYCLEWATCH_BUDGET") == 1
    wrong = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_DEVICES="foo")
    assert (wrong.returncode, wrong.stdout) == (0, b"done\n")
    assert b"CYCLEWATCH_DEVICES='foo'" in wrong.stderr
    assert wrong.stderr.count(b"\n") == 1


def test_program_runs_all_the_same_where_a_variable_names_no_place(python, program, tmp_path, leak):
    program(leak)
    (tmp_path / "temporary").mkdir()
    outcome = python.start(
        "program.py",
        TMPDIR=str(tmp_path / "temporary"),
        CYCLEWATCH="1",
        CYCLEWATCH_OUTPUT="program.py/report.json",
        CYCLEWATCH_QUIET="1",
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")
    (path,) = (tmp_path / "temporary").iterdir()
    assert cyclewatch.Report.load(path).findings[0].occurrences == 3


def test_a_program_that_is_called_like_the_command_is_watched(python, program, tmp_path, leak):
    program(leak, "own/cyclewatch.py")
    outcome = python.start(
        "own/cyclewatch.py",
        CYCLEWATCH="1",
        CYCLEWATCH_OUTPUT="report.json",
        CYCLEWATCH_QUIET="1",
        PYTHONSAFEPATH="1",  # or it would be the package for us
    )
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    assert cyclewatch.Report.load(tmp_path / "report.json").findings


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_a_wrong_setting_that_cannot_be_told_costs_nothing(python, program, tmp_path, stderr):
    program("print('done')")
    outcome = python.start(
        *("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])"),
        f"{shlex.quote(sys.executable)} program.py {stderr}",
        CYCLEWATCH="maybe",
    )
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")


def test_a_folder_that_is_gone_keeps_no_program_from_starting(python, tmp_path):
    leave = "import os; os.rmdir(os.getcwd()); os.execvp(os.sys.executable, WORDS)"
    folders = [tmp_path / "plain", tmp_path / "run", tmp_path / "switched on"]
    for folder in folders:
        folder.mkdir()
    words = [sys.executable, "-c", "print('done')"]
    watched = [sys.executable, "-m", "cyclewatch", "run", *words[1:]]
    outcomes = [
        python.start("-c", leave.replace("WORDS", repr(words)), folder=folders[0]),
        python.start("-c", leave.replace("WORDS", repr(watched)), folder=folders[1]),
        python.start(
            *("-c", leave.replace("WORDS", repr(words))),
            folder=folders[2],
            CYCLEWATCH="1",
        ),
    ]
    # An interpreter that a script starts says that the folder is gone: the shell does.
    plain = outcomes[0]
    assert (plain.returncode, plain.stdout) == (0, b"done\n")
    for outcome in outcomes[1:]:
        assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
        assert outcome.stderr == plain.stderr


@pytest.mark.slow
def test_every_rank_of_torchrun_leaves_a_report(python, program, tmp_path, leak):
    program(leak)
    outcome = python.start(
        *("-m", "torch.distributed.run", "--nproc-per-node=2", "program.py"),
        CYCLEWATCH="1",
        CYCLEWATCH_FORMAT="json",
        CYCLEWATCH_OUTPUT="reports/",
    )
    assert outcome.returncode == 0, outcome.stderr
    reports = [cyclewatch.Report.load(path) for path in (tmp_path / "reports").iterdir()]
    assert sorted(report.processes[0].rank for report in reports) == [0, 1]
