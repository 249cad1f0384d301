# SPDX-License-Identifier: Apache-2.0
"""Programs that pull the ground from under the watch go on as if it were not there."""

from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "hostile_program.py"


@pytest.mark.parametrize(
    "act",
    ["reader_that_cuts_the_chain", "reader_that_empties_its_object", "reader_that_collects"],
)
def test_reader_that_tears_the_garbage_down_crashes_nothing(interpreter, act):
    # interpreter.run() fails the test unless the program ends with status 0
    assert interpreter.run(PROGRAM, act).stdout.split() == ["seen", "3"]


def test_callback_that_makes_more_garbage_comes_to_an_end(interpreter):
    assert interpreter.run(PROGRAM, "callback_that_makes_more").stdout.split() == ["called", "True"]


def test_interrupt_in_a_callback_reaches_the_program(interpreter):
    outcome = interpreter.run(PROGRAM, "callback_that_is_interrupted")
    assert outcome.stdout.split() == ["interrupted"]


def test_worker_of_multiprocessing_finishes_its_report(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "worker_of_multiprocessing", cwd=tmp_path)
    _, pid, exit_code = outcome.stdout.split()
    assert exit_code == "0"
    # Its own report, whole, and nothing half written beside it.
    (path,) = tmp_path.iterdir()
    assert path.name == f"cyclewatch-hostile_program-{pid}.json"
    assert cyclewatch.Report.load(path).held_bytes == 8


def test_a_subinterpreter_is_left_alone(interpreter):
    outcome = interpreter.run(
        """
        import cyclewatch
        try:
            import _interpreters
        except ImportError:
            import _xxsubinterpreters as _interpreters

        watch = cyclewatch.watch(devices="all")
        other = _interpreters.create()
        _interpreters.run_string(other, '''if True:
            import cyclewatch.autostart
            cyclewatch.autostart.start()
            try:
                import cyclewatch._native
            except ImportError as error:
                print(error, flush=True)
        ''')
        _interpreters.destroy(other)
        print(watch.active)
        """,
        CYCLEWATCH="1",
    )
    assert outcome.stderr == ""
    assert outcome.stdout == (
        "module cyclewatch._native does not support loading in subinterpreters\nTrue\n"
    )
