# SPDX-License-Identifier: Apache-2.0
"""Watches shared by threads: each is stopped, each report is whole, nothing waits for ever."""

import json
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "watch_threads.py"


def test_threads_start_and_stop_watches_at_the_same_moment(interpreter, tmp_path):
    threads, rounds = 8, 20
    outcome = interpreter.run(PROGRAM, threads, rounds, tmp_path, timeout=300)
    (stopped, callbacks), left = map(json.loads, outcome.stdout.splitlines())
    # Every watch was read and stopped, the hook went with the last, no file is half written.
    assert (stopped, callbacks, left) == (threads * rounds, 0, [])


def test_threads_start_the_first_watch_of_a_program_at_the_same_moment(main_interpreter, tmp_path):
    # Each of these runs hung with one chance in three while the check of object layouts, which
    # runs Python, was the initialiser of a static.
    for run in range(15):
        outcome = main_interpreter.run(PROGRAM, 8, 1, tmp_path / str(run), timeout=300)
        assert json.loads(outcome.stdout.splitlines()[0]) == [8, 0]
