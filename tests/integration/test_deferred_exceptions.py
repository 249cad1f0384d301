# SPDX-License-Identifier: Apache-2.0
"""An Exception of a reader or callback goes to sys.unraisablehook, others to the program."""

from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "deferred_exceptions.py"


@pytest.fixture
def lines_of(interpreter):
    def run(act):
        outcome = interpreter.run(PROGRAM, act)
        assert outcome.stderr == ""
        return outcome.stdout.splitlines()

    return run


def test_exception_in_a_reader_goes_to_unraisablehook_once(lines_of):
    assert lines_of("exception_in_a_reader") == [
        "[('AttributeError', 'read')] {'owners whose reader failed': 8}",
        "next 8",
    ]


@pytest.mark.parametrize(
    ("act", "raised"),
    [("exit_in_a_reader", "SystemExit(7)"), ("interrupt_in_a_reader", "KeyboardInterrupt()")],
)
def test_exit_and_interrupt_in_a_reader_are_raised_after_the_collection(lines_of, act, raised):
    # All eight finalizers have run by then, none of them interrupted.
    assert lines_of(act) == [
        f"raised {raised} 8",
        "[] {'owners whose reader failed': 8}",
        "next 8",
    ]


def test_exit_in_a_reader_on_another_thread_does_not_end_the_program(lines_of):
    assert lines_of("exit_in_a_reader_on_another_thread") == [
        "[('SystemExit', 'read')] {'owners whose reader failed': 8}",
        "next 8",
    ]


def test_exception_in_a_callback_goes_to_unraisablehook(lines_of):
    assert lines_of("exception_in_a_callback") == [
        "[('ValueError', 'callback'), ('ValueError', 'callback')]"
    ]


def test_interrupt_in_a_callback_is_raised_after_the_collection(lines_of):
    raised = "raised KeyboardInterrupt()"
    assert lines_of("interrupt_in_a_callback") == [raised, raised, "[]"]
