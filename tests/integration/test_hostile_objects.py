# SPDX-License-Identifier: Apache-2.0
"""Hostile garbage and hostile neighbours: the program sees what it sees without a watch.

Each act runs twice in a process of its own, without a watch and with one. Everything that it
prints, on stdout and stderr, has to be the same; the watch's answer, one line more, is stated here.
"""

import json
import re
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
MODULES = Path(__file__).resolve().parents[2] / ".build" / "modules"

NODE = "Node.me -> Node"

# Act -> bytes that were held in cycles, titles of the findings (None: not the point).
LYING_TYPES = {
    "Honest": (24, ["Honest.first -> Node.liar -> Honest", NODE]),
    # It hides that it refers to the Node: the collector leaves both alone, and then they are no
    # garbage. The one beside a cycle hides its owner.
    "Silent": (8, [NODE]),
    # Visiting the owner twice looks as if nothing alive held it. It lives, so it is not reported.
    "living_owner_visited_twice": (8, [NODE]),
    "NullFirst": (16, [NODE]),
    "Raising": (24, [NODE, "Raising.first -> Node.liar -> Raising"]),
    # What it keeps to itself, its owners, is nobody's to report.
    "Halfway": (8, [NODE]),
    "Collecting": (24, ["Collecting.first -> Node.liar -> Collecting", NODE]),
    "Allocating": (24, ["Allocating.first -> Node.liar -> Allocating", NODE]),
    "Fleeting": (24, ["Fleeting.first -> Node.liar -> Fleeting", NODE]),
    "Renewing": (24, [NODE, "Renewing.first -> Node.liar -> Renewing"]),
}
OBJECTS = {
    "every_special_method": (8, None),
    "class_that_is_garbage_itself": (8, None),
    "disguise": (8, ["Disguised.me -> Disguised"]),
    "proxies": (8, None),
    "names_from_hell": (56, None),
    # Saved once it is not reported; when it dies at last, it is.
    "finalizer_that_resurrects": (8, ["Final.me -> Final"]),
    "generator_that_raises": (8, None),
    "generator_that_refuses_to_end": (8, None),
    "coroutine_never_awaited": (8, None),
    "owner_with_slots_and_no_weakref": (8, None),
    "living_owner_on_the_stack_of_a_generator": (8, [NODE]),
    "stack_that_is_nearly_full": (16, [NODE]),
    "finalizer: raise_error": (16, ["Final.me -> Final", NODE]),
    "finalizer: raise_exit": (16, ["Final.me -> Final", NODE]),
    "finalizer: interrupt": (16, ["Final.me -> Final", NODE]),
    "finalizer: collect_again": (16, ["Final.me -> Final", NODE]),
    "finalizer: make_more": (24, ["Final.me -> Final", NODE]),
    "finalizer: run_a_thread": (24, ["Final.me -> Final", NODE]),
    # The owner dies before the sweep, with the cycle that held it.
    "finalizer: clear_the_owner": (16, ["Final.me -> Final", NODE]),
    "callback: raise_in_callback": (16, [NODE]),
    "callback: import_in_callback": (16, [NODE]),
    "callback: collect_in_callback": (24, [NODE]),
}
TOOLS = {
    # The first collection is not seen, and the watch says so.
    "callback_that_keeps_what_it_meets": (16, [NODE]),
    "callbacks_in_another_order": (24, [NODE]),
    "callbacks_that_raise": (8, [NODE]),
    # One before, two that its "start" makes, two that its "stop" makes.
    "callbacks_that_collect": (40, [NODE]),
    # Nothing of that collection is seen: the entry was taken out before it was called.
    "callbacks_that_clear_the_list": (0, []),
    # The start was seen and the end was not: that collection is dropped.
    "callback_that_takes_the_watch_out_in_the_middle": (0, []),
    # So is one that somebody else ends, before its time.
    "entry_called_by_anybody": (8, [NODE]),
    "profiler": (16, [NODE]),
    "tracer": (16, [NODE]),
    "profiler_that_collects": (None, [NODE]),
    "tracer_that_raises": (8, [NODE]),
    "monitoring": (24, [NODE]),
    "freezing": (8, [NODE]),
    "switched_off": (8 * 2000, [NODE]),
    "saving_everything": (8, [NODE]),
    "other_watchers": (16, [NODE]),
    "alarms": (None, [NODE]),
}

# What is given up and outlives that counts as gone where the collector clears all weak references
# to what it gives up: nothing else tells.
SAID_TOO_EARLY = {"living_owner_visited_twice": 16, "generator_that_refuses_to_end": 16}

# Acts that remove the hook, and the warning that they cause.
REMOVES_HOOK = (
    "callbacks_that_clear_the_list",
    "callback_that_takes_the_watch_out_in_the_middle",
)
WARNING = (
    "The program removed cyclewatch from gc.callbacks. Collections were not observed until it was "
    "added again.\n"
)


def output_of(interpreter, program, act, *flags):
    """Lines on stdout and text on stderr, without addresses."""
    path = interpreter.path_with(MODULES)
    outcome = interpreter.run(PROGRAMS / program, act, *flags, PYTHONPATH=path)
    stderr = re.sub("0x[0-9a-f]+", "0x", outcome.stderr)
    return outcome.stdout.splitlines(keepends=True), stderr


def check(interpreter, program, act, expected):
    """Run the act both ways, compare, and return what it printed."""
    without, complaints = output_of(interpreter, program, act)
    (*with_watch, line), complaints_with_watch = output_of(interpreter, program, act, "--watch")
    assert with_watch == without
    if act in REMOVES_HOOK:
        complaints += WARNING
    if act == "Raising":
        # CPython calls weakref callbacks with the error pending and blames the first that returns:
        # ours. Without one it says the same of the collection.
        complaints, complaints_with_watch = (
            "ValueError: raised in tp_traverse\n" in each
            for each in (complaints, complaints_with_watch)
        )
    assert complaints_with_watch == complaints
    held, titles, clears_weakrefs = json.loads(line)
    expected_held, expected_titles = expected
    if clears_weakrefs:
        expected_held = SAID_TOO_EARLY.get(act, expected_held)
    if expected_held is not None:
        assert held == expected_held
    if expected_titles is not None:
        assert titles == expected_titles
    return "".join(without)


@pytest.mark.parametrize("act", LYING_TYPES)
def test_types_that_lie_to_the_collector(interpreter, act):
    path = interpreter.path_with(MODULES)
    alone = interpreter.run(PROGRAMS / "lying_types_program.py", act, check=False, PYTHONPATH=path)
    if alone.returncode < 0:
        pytest.skip("the interpreter's own assertions end the process, without a watch too")
    check(interpreter, "lying_types_program.py", act, LYING_TYPES[act])


@pytest.mark.parametrize("act", OBJECTS)
def test_objects_that_resist(interpreter, act):
    check(interpreter, "hostile_objects.py", act, OBJECTS[act])


@pytest.mark.parametrize(
    "act", ["every_special_method", "class_that_is_garbage_itself", "disguise"]
)
def test_no_method_of_dying_objects_is_called(interpreter, act):
    assert check(interpreter, "hostile_objects.py", act, OBJECTS[act]) == "True []\n"


@pytest.mark.parametrize("act", TOOLS)
def test_other_tools_at_the_same_time(interpreter, act):
    check(interpreter, "hostile_tools.py", act, TOOLS[act])


def test_detector_of_torch_at_the_same_time(torch_interpreter):
    check(torch_interpreter, "hostile_tools.py", "detector_of_torch", (32, [NODE]))


def test_debugger_stops_where_it_would(interpreter, tmp_path):
    program = tmp_path / "debugged.py"
    program.write_text(
        """\
import sys
from acts import cycle, start_watch
import gc
watch = start_watch() if sys.argv[1:] else None
gc.disable()
gc.collect()  # what the imports left: theirs are more with a watch
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
