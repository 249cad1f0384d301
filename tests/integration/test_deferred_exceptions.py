# SPDX-License-Identifier: Apache-2.0
"""Exceptions from readers and callbacks: passed to sys.unraisablehook, or deferred."""

from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "hostile_program.py"

RECOVERED = ["next 8"]
RAISED = "raised KeyboardInterrupt()"


@pytest.mark.parametrize(
    ("scenario", "lines"),
    [
        # Only the first exception of a reader is passed to the hook.
        (
            "exception_in_a_reader",
            ["[('AttributeError', 'read')] {'owners whose reader failed': 8}", *RECOVERED],
        ),
        # Deferred until all eight finalizers have run.
        (
            "exit_in_a_reader",
            ["raised SystemExit(7) 8", "[] {'owners whose reader failed': 8}", *RECOVERED],
        ),
        (
            "interrupt_in_a_reader",
            [f"{RAISED} 8", "[] {'owners whose reader failed': 8}", *RECOVERED],
        ),
        (
            "exit_in_a_reader_on_another_thread",
            ["[('SystemExit', 'read')] {'owners whose reader failed': 8}", *RECOVERED],
        ),
        (
            "exception_in_a_callback",
            ["[('ValueError', 'callback'), ('ValueError', 'callback')]"],
        ),
        ("interrupt_in_a_callback", [RAISED, RAISED, "[]"]),
    ],
)
def test_exception(interpreter, scenario, lines):
    outcome = interpreter.run(PROGRAM, scenario)
    assert outcome.stderr == ""
    assert outcome.stdout.splitlines() == lines
