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


AT_THE_END = """
import atexit, gc, json, threading

ending, answered = threading.Event(), threading.Event()
seen = []

def found():
    with cyclewatch.watch(devices="cpu") as watch:
        was_active = watch.active
        cycle = [Buffer()]
        cycle.append(cycle)
        del cycle
        gc.collect()
    return [was_active, watch.report().retained_bytes]

def start_one_at_the_end():
    ending.wait()
    seen.append(found())
    answered.set()

@atexit.register  # before cyclewatch's own, so it runs after that
def end():
    ending.set()
    answered.wait()
    print(json.dumps(seen + [found()]))

import cyclewatch

class Buffer:
    pass

cyclewatch.register_owner(Buffer, lambda buffer: {"device": "cpu", "nbytes": 8})
threading.Thread(target=start_one_at_the_end, daemon=True).start()
"""


def test_thread_that_outlives_the_program_starts_watches_that_see_nothing(interpreter):
    by_the_thread, by_the_program = json.loads(interpreter.run(AT_THE_END).stdout)
    # Nobody waits for what the thread would find, and it may be taken away at any moment.
    assert by_the_thread == [False, 0]
    # An exit handler may still watch what it does.
    assert by_the_program == [True, 8]
