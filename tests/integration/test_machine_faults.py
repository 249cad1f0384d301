# SPDX-License-Identifier: Apache-2.0
"""Folders that are gone, sudden ends, clocks that run backwards, no memory, endless lists."""

import json
import random
import signal
import stat
import subprocess
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "machine_fault_program.py"
FAILING_ALLOCATIONS = PROGRAM.with_name("failing_allocations.py")
MIB = 1 << 20


def test_a_folder_that_vanishes_costs_the_file_only(main_interpreter, tmp_path):
    outcome = main_interpreter.run(PROGRAM, "folder_gone", tmp_path)
    assert outcome.stdout.split() == ["2", "[]"]
    assert outcome.stderr.count("No such file or directory. The findings stay in memory") == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_killed_while_it_writes_leaves_the_old_or_the_new_report(
    main_interpreter, tmp_path, number
):
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        program = subprocess.Popen(
            [main_interpreter.path, PROGRAM, "killed", folder],
            env=main_interpreter.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        # It writes from its first line on, and does nothing else.
        for _ in range(random.Random(attempt).randrange(1, 6)):
            written = int(program.stdout.readline())
        program.send_signal(number)
        program.stdout.close()
        assert program.wait(60) == -number
        for path in folder.glob("cyclewatch-*"):
            assert len(cyclewatch.Report.load(path).findings) >= written
        assert len(list(folder.glob("cyclewatch-*"))) == 2
        for path in folder.glob(".cyclewatch-*"):  # begun: for its owner, whatever the umask lets
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_clocks_that_run_backwards_cost_no_finding(main_interpreter, tmp_path, backwards_clock):
    outcome = main_interpreter.run(PROGRAM, "backwards", tmp_path, LD_PRELOAD=str(backwards_clock))
    kinds, collections, held = json.loads(outcome.stdout)
    assert (kinds, held) == (5, 5 * MIB)
    assert collections >= 5


@pytest.mark.parametrize("whose", ["cpp", "python"])
def test_allocation_that_fails_in_a_collection_costs_what_it_would_have_found(
    interpreter, failing_allocator, whose
):
    outcome = interpreter.run(FAILING_ALLOCATIONS, whose, LD_PRELOAD=str(failing_allocator))
    found = json.loads(outcome.stdout)
    assert found["allocations"] >= (400 if whose == "cpp" else 10)
    assert found["uncounted"] == []
    assert ".handlers" in found["labels_afterwards"]
    assert "SystemError" not in outcome.stderr  # the hook left no error set


# Of a ring every node is on the cycle; of the list a region around the owner is named; from the end
# of the chain the cycle is out of sight, which the report says.
@pytest.mark.parametrize(
    ("shape", "length", "found"),
    [
        ("ring", 40_000, [["Node", 200]]),
        ("ring", 1_000_000, [["Node", 200]]),
        ("list", 1_000_000, [["Node", 2]]),
        ("chain", 1_000_000, []),
    ],
)
def test_a_list_of_a_million_goes_through_capture_analysis_and_every_renderer(
    interpreter, tmp_path, shape, length, found
):
    outcome = interpreter.run(PROGRAM, "deep", tmp_path, shape, length)
    (unreachable, owners, held), findings, skipped = map(json.loads, outcome.stdout.splitlines())
    assert length < unreachable <= length + 3
    assert (owners, held) == (1, MIB)
    assert [[title.split(".")[0], references] for title, references, _ in findings] == found
    assert all(lines <= 25 for _, _, lines in findings)
    left_out = skipped.get("objects not captured: over the limit for one collection", 0)
    assert (left_out > 990_000) == (shape != "ring")


@pytest.mark.slow
def test_ten_million_objects_of_garbage_hide_no_owner(main_interpreter, tmp_path):
    outcome = main_interpreter.run(PROGRAM, "deep", tmp_path, "many", 10_000_000)
    (unreachable, owners, held), [[title, references, _]], skipped = map(
        json.loads, outcome.stdout.splitlines()
    )
    assert unreachable > 10_000_000
    assert (owners, held) == (1, MIB)
    assert (title, references) == ("list[0] -> list", 1)
    # Cycles that are alike and own nothing are counted, not left out.
    assert skipped == {}
