# SPDX-License-Identifier: Apache-2.0
"""Programs that pull the ground from under the watch go on as if it were not there."""

import json
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "hostile_program.py"


@pytest.mark.parametrize(
    "act",
    [
        "reader_that_cuts_the_chain",
        "reader_that_empties_its_object",
        "reader_that_collects",
        "reader_whose_answer_empties_itself",
    ],
)
def test_reader_that_tears_the_garbage_down_crashes_nothing(interpreter, act):
    # interpreter.run() fails the test unless the program ends with status 0
    outcome = interpreter.run(PROGRAM, act, PYTHONMALLOC="debug")
    assert outcome.stdout.split() == ["seen", "3"]


def test_callback_that_makes_more_garbage_comes_to_an_end(interpreter):
    assert interpreter.run(PROGRAM, "callback_that_makes_more").stdout.split() == ["called", "True"]


def test_log_handler_that_fails_is_no_affair_of_the_programs(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "log_handler_that_fails", cwd=tmp_path)
    assert outcome.stdout.splitlines() == ["unraisable 0"]


def test_message_is_told_where_logging_cannot_be_imported(interpreter):
    outcome = interpreter.run(PROGRAM, "message_where_logging_cannot_be_imported")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("cyclewatch: The owner reader registered for ")


def test_worker_of_multiprocessing_finishes_its_report(interpreter, tmp_path):
    outcome = interpreter.run(PROGRAM, "worker_of_multiprocessing", cwd=tmp_path)
    _, pid, exit_code = outcome.stdout.split()
    assert exit_code == "0"
    # Its own report, whole, and nothing half written beside it.
    (path,) = tmp_path.iterdir()
    assert path.name == f"cyclewatch-hostile_program-{pid}.json"
    assert cyclewatch.Report.load(path).retained_bytes == 8


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


SUBINTERPRETER = """
import gc, json, sys, threading
import cyclewatch

try:
    import _interpreters
    create = lambda own: _interpreters.create("isolated" if own else "legacy")
except ImportError:
    import _xxsubinterpreters as _interpreters
    create = lambda own: _interpreters.create(isolated=own)

own = sys.argv[1] == "of its own"
if own and sys.version_info < (3, 12):
    print("one")
    sys.exit()

class Owner:
    def __init__(self):
        self.me = self
cyclewatch.register_owner(
    Owner, lambda owner: {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}
)
gc.disable()
watch = cyclewatch.watch(devices="cpu", budget=1)
other = create(own)
theirs = '''if True:
    import gc
    gc.disable()
    class Owner:
        def __init__(self):
            self.me = self
    for _ in range(100):
        Owner()
        assert gc.collect() > 0
'''

def run(source):
    # An error is raised, on 3.13 and later returned.
    assert _interpreters.run_string(other, source) is None

# Alone, then while this interpreter does the same, then with some left for the other's end.
run(theirs)
alone = [watch.stats.collections, watch.report().retained_bytes]
thread = threading.Thread(target=run, args=(theirs,))
thread.start()
rounds = 100  # not "while it runs": 3.12 never asks us to give a shared lock to the other's thread
for _ in range(rounds):
    Owner()
    gc.collect()
thread.join()
run("Owner()")
_interpreters.destroy(other)
together = [watch.stats.collections - rounds, watch.report().retained_bytes - 8 * rounds]
Owner()
gc.collect()
after = [watch.stats.collections - rounds, watch.report().retained_bytes - 8 * rounds]
print(json.dumps([alone, together, after, len(watch.report().findings)]))
"""


@pytest.mark.parametrize("lock", ["shared", "of its own"])
def test_garbage_of_a_subinterpreter_is_none_of_ours(interpreter, lock):
    if lock == "of its own" and interpreter.free_threaded:
        pytest.skip("this build has no GIL")
    outcome = interpreter.run(SUBINTERPRETER, lock)
    assert outcome.stderr == ""
    if outcome.stdout == "one\n":
        pytest.skip("before 3.12 all interpreters of a process share one GIL")
    alone, together, after, findings = json.loads(outcome.stdout)
    assert alone == [0, 0]
    assert together == [0, 0]
    assert after == [1, 8]
    assert findings == 1
