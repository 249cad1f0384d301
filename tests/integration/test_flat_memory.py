# SPDX-License-Identifier: Apache-2.0
"""Thousands of watches do not leak, and the number of references that a watch captures is limited.

Also runs programs in the interpreter's development mode.
"""

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
ROUNDS = 4_000

MANY_REFERENCES = """
import gc
import json
import operator

import cyclewatch


class Owner:
    answer = {"device": "cpu", "nbytes": 8}


def repeated():
    owner = Owner()
    owner.rows = [owner] * 1_000_000


def dense():
    lists = [[] for _ in range(900)]
    for each in lists:
        each.extend(lists)
    lists[0].append(Owner())


def watched(leak):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak()
        gc.collect()
        report = watch.report()
        cycles = sum(bool(finding.cycle) for finding in report.findings)
        left_out = [number for what, number in watch.stats.skipped.items() if "references" in what]
        return [report.retained_bytes, watch.stats.owners, cycles, left_out]


cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
gc.disable()
gc.collect()
print(json.dumps([watched(repeated), watched(dense)]))
"""


def test_millions_of_references_hide_no_cycle(interpreter):
    repeated, dense = json.loads(interpreter.run(MANY_REFERENCES).stdout)
    # Repeated references from one object to another are one reference.
    assert repeated == [8, 1, 1, []]
    assert dense[:3] == [8, 1, 1]
    [left_out] = dense[3]
    assert 0 < left_out < 900 * 900


def test_first_watch_does_not_keep_the_handled_exception_alive(interpreter):
    program = """
        import gc
        import weakref
        import cyclewatch

        class Error(Exception):
            pass

        try:
            raise Error
        except Error as error:
            reference = weakref.ref(error)
            cyclewatch.watch().stop()
        gc.collect()
        print(reference() is None)
    """
    assert interpreter.run(program).stdout == "True\n"


def test_thousands_of_watches_leak_nothing(interpreter):
    outcome = interpreter.run(PROGRAMS / "many_watches.py", ROUNDS, timeout=300)
    early, late = json.loads(outcome.stdout)
    # If one in ten watches leaked, there would be 200 more objects, blocks or references. Reading
    # source code fills caches of the interpreter with some 200 blocks.
    assert late["objects"] - early["objects"] < 20
    assert late["blocks"] - early["blocks"] < 400
    growth = [b - a for a, b in zip(early["references"], late["references"], strict=True)]
    # The counts of classes on free-threaded builds omit what each thread counts separately.
    assert max(growth) == 0 if interpreter.free_threaded else growth == [0] * 5
    assert {"Finding", "NativeWatch", "Report"} <= early["types"].keys()
    assert late["types"] == early["types"]
    assert (early["callbacks"], late["callbacks"]) == (0, 0)
    # 200 bytes per watch.
    assert late["rss"] - early["rss"] < 400


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("many_watches.py", ["100"]),
        ("transparency_program.py", ["--owners", "--watch"]),
        ("hostile_program.py", ["reader_that_cuts_the_chain"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_development_mode_reports_nothing(interpreter, program, arguments):
    # Development mode also enables the debug hooks of the allocators.
    outcome = interpreter.run(PROGRAMS / program, *arguments, PYTHONDEVMODE="1")
    messages = [line for line in outcome.stderr.splitlines() if not line.isdigit()]
    assert messages == []
