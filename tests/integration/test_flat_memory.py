# SPDX-License-Identifier: Apache-2.0
"""Ten thousand watches leave nothing behind; interpreters that look closely find nothing wrong."""

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
ROUNDS = 10_000


def test_ten_thousand_watches_leave_nothing_behind(interpreter):
    outcome = interpreter.run(PROGRAMS / "many_watches.py", ROUNDS, timeout=300)
    early, late = json.loads(outcome.stdout)
    # One block, object or reference for each hundredth watch would be 90 of them.
    assert late["objects"] - early["objects"] < 20
    assert late["blocks"] - early["blocks"] < 50
    assert [b - a for a, b in zip(early["references"], late["references"], strict=True)] == [0] * 5
    assert {"Finding", "NativeWatch", "Report"} <= early["types"].keys()
    assert late["types"] == early["types"]
    assert (early["callbacks"], late["callbacks"]) == (0, 0)
    # 40 bytes for each watch.
    assert late["rss"] - early["rss"] < 400


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONDEVMODE": "1"}, {"PYTHONMALLOC": "debug"}, {"PYTHONMALLOC": "malloc_debug"}],
    ids=lambda environment: "".join(environment.values()),
)
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("many_watches.py", ["100"]),
        ("transparency_program.py", ["--owners", "--watch"]),
        ("hostile_program.py", ["reader_that_cuts_the_chain"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_interpreters_that_check_find_nothing(interpreter, program, arguments, environment):
    if interpreter.free_threaded and environment.get("PYTHONMALLOC") == "malloc_debug":
        pytest.skip("free-threaded builds have one allocator only, which is not malloc()")
    # They say so on stderr, or abort.
    outcome = interpreter.run(PROGRAMS / program, *arguments, **environment)
    said = [line for line in outcome.stderr.splitlines() if not line.isdigit()]
    assert said == []


def test_import_times_are_told_for_a_watched_program(interpreter):
    outcome = interpreter.run(
        PROGRAMS / "hostile_program.py", "reader_that_collects", PYTHONPROFILEIMPORTTIME="1"
    )
    assert outcome.stdout.split() == ["seen", "3"]
    lines = outcome.stderr.splitlines()
    assert all(line.startswith("import time:") for line in lines)
    assert sum("cyclewatch._native" in line for line in lines) == 1
