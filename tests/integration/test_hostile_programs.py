# SPDX-License-Identifier: Apache-2.0
"""Hostile garbage, tools, readers, callbacks and subinterpreters.

Each scenario in OBJECTS and TOOLS runs in two processes, one without and one with a watch. The two
outputs must be equal; the expected report is listed here.
"""

import json
import re
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
HOSTILE = PROGRAMS / "hostile_program.py"

NODE = "Node.me -> Node"
FINAL = "Final.me -> Final"

# Scenario -> retained bytes and titles of the findings (None: not compared).
OBJECTS = {
    "every_special_method": (8, None),
    "class_that_is_garbage_itself": (8, None),
    "disguise": (8, ["Disguised.me -> Disguised"]),
    "names_from_hell": (56, None),
    # The cycle is reported when it is finally freed, not when it is resurrected.
    "finalizer_that_resurrects": (8, [FINAL]),
    "generator_that_refuses_to_end": (8, None),
    "living_owner_on_the_stack_of_a_generator": (8, [NODE]),
    "finalizer: raise_error": (16, [FINAL, NODE]),
    "finalizer: collect_again": (16, [FINAL, NODE]),
    "finalizer: run_a_thread": (24, [FINAL, NODE]),
    # The owner is freed before the cycle that referred to it.
    "finalizer: clear_the_owner": (16, [FINAL, NODE]),
    "callback: raise_in_callback": (16, [NODE]),
    "callback: collect_in_callback": (24, [NODE]),
}
TOOLS = {
    # The first collection is missed, and a message reports it.
    "callback_that_keeps_what_it_meets": (16, [NODE]),
    "callbacks_in_another_order": (24, [NODE]),
    "callbacks_that_raise": (8, [NODE]),
    # One from the scenario, two from each of the phases "start" and "stop".
    "callbacks_that_collect": (40, [NODE]),
    # That collection is missed: our callback was removed before it was called.
    "callbacks_that_clear_the_list": (0, []),
    "profiler": (16, [NODE]),
    "tracer": (16, [NODE]),
    "monitoring": (24, [NODE]),
    "freezing": (8, [NODE]),
    "saving_everything": (8, [NODE]),
    "alarms": (None, [NODE]),
}

# If the collector clears all weak references to unreachable objects, an owner that survives is
# still reported as freed.
REPORTED_ALTHOUGH_ALIVE = {"generator_that_refuses_to_end": 16}


def output_of(interpreter, program, scenario, *flags):
    """Lines on stdout and text on stderr, without addresses."""
    outcome = interpreter.run(PROGRAMS / program, scenario, *flags)
    stderr = re.sub("0x[0-9a-f]+", "0x", outcome.stderr)
    return outcome.stdout.splitlines(keepends=True), stderr


def check(interpreter, program, scenario, expected):
    """Check that the outputs with and without a watch are equal, and return the output."""
    without, stderr = output_of(interpreter, program, scenario)
    (*with_watch, line), stderr_with_watch = output_of(interpreter, program, scenario, "--watch")
    assert with_watch == without
    if scenario == "callbacks_that_clear_the_list":
        (message,) = stderr_with_watch.removeprefix(stderr).splitlines()
        assert "gc.callbacks" in message
    else:
        assert stderr_with_watch == stderr
    retained, titles, clears_weakrefs = json.loads(line)
    expected_bytes, expected_titles = expected
    if clears_weakrefs:
        expected_bytes = REPORTED_ALTHOUGH_ALIVE.get(scenario, expected_bytes)
    if expected_bytes is not None:
        assert retained == expected_bytes
    if expected_titles is not None:
        assert titles == expected_titles
    return "".join(without)


# Scenarios that print which methods of dying objects were called.
NO_METHODS_CALLED = {"every_special_method", "class_that_is_garbage_itself", "disguise"}


@pytest.mark.parametrize("scenario", OBJECTS)
def test_hostile_objects(interpreter, scenario):
    output = check(interpreter, "hostile_objects.py", scenario, OBJECTS[scenario])
    if scenario in NO_METHODS_CALLED:
        assert output == "True []\n"


@pytest.mark.parametrize("scenario", TOOLS)
def test_other_tools(interpreter, scenario):
    check(interpreter, "hostile_tools.py", scenario, TOOLS[scenario])


def test_cycle_detector_of_torch(torch_interpreter):
    check(torch_interpreter, "hostile_tools.py", "detector_of_torch", (32, [NODE]))


def test_debugger(interpreter, tmp_path):
    program = tmp_path / "debugged.py"
    program.write_text(
        """\
import sys
from scenarios import cycle, start_watch
import gc
watch = start_watch() if sys.argv[1:] else None
gc.disable()
gc.collect()  # garbage of the imports, which differs with a watch
def leak():
    cycle()
    return gc.collect()
for number in range(3):
    leak()
print(watch.report().retained_bytes if watch else 24)
"""
    )
    commands = "b leak\nc\nn\nn\nr\nw\nc\nc\np number\nc\nq\n"
    answers = [
        interpreter.run(
            "import pdb; pdb.main()",
            program,
            *flags,
            words=commands,
            PYTHONPATH=interpreter.path_with(PROGRAMS),
        ).stdout
        for flags in ((), ("watch",))
    ]
    assert "(Pdb) 2\n" in answers[0]
    assert "(Pdb) 24\n" in answers[0]
    assert answers[1] == answers[0]


@pytest.mark.parametrize(
    "scenario",
    ["reader_that_cuts_the_chain", "reader_that_empties_its_object", "reader_that_collects"],
)
def test_reader_that_modifies_the_garbage(interpreter, scenario):
    # interpreter.run() fails the test unless the program exits with status 0.
    outcome = interpreter.run(HOSTILE, scenario, PYTHONMALLOC="debug")
    assert outcome.stdout.split() == ["seen", "3"]


@pytest.mark.parametrize(
    ("scenario", "line"),
    [("callback_that_makes_more", "called True"), ("log_handler_that_fails", "unraisable 0")],
)
def test_callback_and_log_handler(interpreter, tmp_path, scenario, line):
    assert interpreter.run(HOSTILE, scenario, cwd=tmp_path).stdout.splitlines() == [line]


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
