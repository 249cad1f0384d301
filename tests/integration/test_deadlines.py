# SPDX-License-Identifier: Apache-2.0
"""What is raised while the watch is at work, and meant for the program, reaches the program."""

from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "deadlines.py"


def test_interrupt_in_a_callback_reaches_the_program(interpreter):
    outcome = interpreter.run(PROGRAM, "callback_that_is_interrupted")
    assert outcome.stdout.split() == ["interrupted"]


def test_deadline_that_comes_while_something_is_told_reaches_the_program(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "deadline_while_something_is_told", cwd=tmp_path)
    assert outcome.stdout.splitlines() == [
        "callback met its deadline",
        "log handler met its deadline",
    ]
    assert outcome.stderr == ""


def test_failure_of_a_callback_is_not_taken_for_a_deadline(interpreter):
    outcome = interpreter.run(PROGRAM, "callback_that_fails_with_its_frame_in_hand")
    assert outcome.stdout == "went on\n"
    assert "the callback of observe_tensor_cycles raised" in outcome.stderr


def test_deadline_that_comes_while_a_reader_runs_reaches_the_program(interpreter):
    outcome = interpreter.run(PROGRAM, "deadline_while_a_reader_runs")
    assert outcome.stdout.splitlines() == ["reader met its deadline"]


@pytest.mark.parametrize("language", ["c", "python"])
def test_interrupt_while_an_owner_is_read_costs_no_owner(interpreter, language):
    outcome = interpreter.run(PROGRAM, f"interrupt_while_a_reader_in_{language}_answers")
    assert outcome.stdout == "interrupted 24 {}\n"


def test_deadline_that_comes_while_the_first_watch_starts_reaches_the_program(interpreter):
    outcome = interpreter.run(PROGRAM, "deadline_while_the_first_watch_starts")
    # And the next watch knows names: the proof of the layouts was not taken for failed.
    assert outcome.stdout.splitlines() == ["met its deadline", "Owner.me -> Owner"]


def test_deadline_that_comes_while_the_configuration_is_read_reaches_the_program(interpreter):
    outcome = interpreter.run(PROGRAM, "deadline_while_the_configuration_is_read")
    assert outcome.stdout.splitlines() == ["met its deadline"]


def test_reader_that_ends_the_program_lets_its_finalizers_finish(interpreter):
    outcome = interpreter.run(PROGRAM, "reader_that_ends_the_program")
    assert outcome.stdout.split() == ["exit", "7", "8"]
    assert "Exception ignored" not in outcome.stderr


@pytest.mark.parametrize(
    ("act", "met"),
    [
        ("callback_after_ours_and_reader", "reader met its deadline"),
        ("finalizer_that_stops_the_last_watch", "finalizer met its deadline"),
    ],
)
def test_deadline_does_not_come_up_in_another_tools_gc_callback(interpreter, act, met):
    outcome = interpreter.run(PROGRAM, act)
    assert outcome.stderr == ""
    assert outcome.stdout.splitlines()[0] == met


def test_exit_in_a_callback_ends_the_program_whoever_else_has_a_gc_callback(interpreter):
    outcome = interpreter.run(PROGRAM, "callback_after_ours_and_callback", check=False)
    assert (outcome.returncode, outcome.stderr) == (5, "")
    assert outcome.stdout == "same places True\n"


def test_gc_callbacks_of_others_are_called_as_often_as_ever(interpreter):
    outcome = interpreter.run(PROGRAM, "callback_after_ours_that_appends_more")
    first = [("second", "start"), ("second", "stop"), ("third", "stop")]
    later = [("second", "start"), ("third", "start"), ("second", "stop"), ("third", "stop")]
    assert outcome.stdout == f"{[*first, 'told', *later, 'told']} True\n"
