# SPDX-License-Identifier: Apache-2.0
"""Readers that modify the garbage, callbacks that create more, and subinterpreters."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "hostile_program.py"


@pytest.mark.parametrize(
    "scenario",
    ["reader_that_cuts_the_chain", "reader_that_empties_its_object", "reader_that_collects"],
)
def test_reader_that_modifies_the_garbage(interpreter, scenario):
    # interpreter.run() fails the test unless the program exits with status 0.
    outcome = interpreter.run(PROGRAM, scenario, PYTHONMALLOC="debug")
    assert outcome.stdout.split() == ["seen", "3"]


@pytest.mark.parametrize(
    ("scenario", "line"),
    [("callback_that_makes_more", "called True"), ("log_handler_that_fails", "unraisable 0")],
)
def test_callback_and_log_handler(interpreter, tmp_path, scenario, line):
    assert interpreter.run(PROGRAM, scenario, cwd=tmp_path).stdout.splitlines() == [line]


@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_subinterpreter_cannot_import_the_extension(interpreter, kind):
    outcome = interpreter.run(
        f"""
        import cyclewatch
        try:
            import _interpreters
            other = _interpreters.create({kind!r})
        except ImportError:
            import _xxsubinterpreters as _interpreters
            other = _interpreters.create(isolated={kind == "isolated"})

        watch = cyclewatch.watch(devices="all")
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
import gc, json, threading
import cyclewatch

try:
    import _interpreters
    other = _interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as _interpreters
    other = _interpreters.create(isolated=False)

class Owner:
    def __init__(self):
        self.me = self
cyclewatch.register_owner(
    Owner, lambda owner: {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}
)
gc.disable()
watch = cyclewatch.watch(devices="cpu", budget=1)
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
    # An error is raised, or returned on 3.13 and later.
    assert _interpreters.run_string(other, source) is None

def counts(rounds=0):
    return [watch.stats.collections - rounds, watch.report().retained_bytes - 8 * rounds]

run(theirs)
alone = counts()
thread = threading.Thread(target=run, args=(theirs,))
thread.start()
rounds = 100
for _ in range(rounds):
    Owner()
    gc.collect()
thread.join()
run("Owner()")  # collected when the interpreter is destroyed
_interpreters.destroy(other)
print(json.dumps([alone, counts(rounds)]))
"""


def test_subinterpreter_is_not_watched(interpreter):
    outcome = interpreter.run(SUBINTERPRETER)
    assert outcome.stderr == ""
    assert json.loads(outcome.stdout) == [[0, 0], [0, 0]]
