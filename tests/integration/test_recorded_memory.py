# SPDX-License-Identifier: Apache-2.0
"""If torch is recording memory history, owners in new findings have an allocation site."""

import json
import re
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "recorded_memory.py"
LINES = PROGRAM.read_text().splitlines()
NO_CALLS = {"history": 0, "snapshot": 0, "in a collection": 0}
LEAK = f"{PROGRAM}:{LINES.index('    holder.weight = Buffer(mib)') + 1}"


def answer_of(interpreter, scenario, **options):
    return json.loads(interpreter.run(PROGRAM, scenario, **options).stdout)


def locations_of(answer):
    return [location for *_, location in answer["owners"]]


def test_location_is_the_innermost_line_of_the_program(interpreter):
    answer = answer_of(interpreter, "once")
    assert answer["owners"] == [["Model", 1, LEAK]]
    assert answer["calls"] == {"history": 1, "snapshot": 1, "in a collection": 0}
    assert answer["skipped"] == {}
    assert answer["reported"] == [LEAK]
    assert "recorded_memory.py:" in answer["card"]
    assert LEAK in answer["json"]
    assert LEAK in answer["html"]
    [stack] = answer["stacks"]
    assert stack[0] == "/pytorch/c10/cuda/CUDACachingAllocator.cpp:7 in malloc"
    assert f"{LEAK} in leak" in stack
    assert stack[-1].endswith(" in <module>")
    # The page draws the stack from its JSON, in which markup is escaped.
    for frame in stack:
        assert f'"{frame}"'.replace("<", "\\u003c").replace(">", "\\u003e") in answer["html"]
    without_history = answer_of(interpreter, "off")
    assert without_history["signatures"] == answer["signatures"]
    assert locations_of(without_history) == [None]
    assert without_history["calls"] == {**NO_CALLS, "history": 1}
    assert without_history["skipped"] == {}


def test_snapshot_of_torch_2_6(main_interpreter):
    assert locations_of(answer_of(main_interpreter, "as_torch_2_6")) == [LEAK]


def test_frames_as_torch_names_them(torch_interpreter):
    # Otherwise torch starts a program for each library to name C++ frames.
    options = {"TORCH_SYMBOLIZE_MODE": "dladdr", "timeout": 300}
    assert locations_of(answer_of(torch_interpreter, "named_by_torch", **options)) == [LEAK]


def test_uninitialized_allocator_is_not_called(main_interpreter):
    answer = answer_of(main_interpreter, "without_allocator")
    assert locations_of(answer) == [None]
    assert answer["calls"] == NO_CALLS


def test_known_signature_is_not_looked_up_again(interpreter):
    answer = answer_of(interpreter, "repeated")
    assert answer["occurrences"] == [5]
    assert answer["calls"]["snapshot"] == 1
    assert answer["owners"] == [["Model", 5, LEAK]]


def test_one_snapshot_per_collection_and_no_address_in_findings(main_interpreter):
    answer = answer_of(main_interpreter, "two_kinds_at_once")
    assert answer["owners"] == [["Model", 1, LEAK], ["Trainer", 1, LEAK]]
    assert answer["calls"]["snapshot"] == 1
    assert answer["addresses"]
    report = json.loads(answer["json"])
    assert [len(group["addresses"]) for group in report.pop("addresses")] == [1, 1]
    page, listed = re.subn(r'"addresses":\[\{.*?\}\],(?=")', "", answer["html"], count=1)
    assert listed == 1
    for address in set(answer["addresses"]):
        assert address not in json.dumps(report) + page + answer["card"]
        assert format(int(address), "x") not in answer["json"]


def test_equal_owners_with_different_locations_are_listed_separately(interpreter):
    first = LINES.index("        Buffer(4),") + 1
    assert answer_of(interpreter, "alike")["owners"] == [
        ["Model", 1, f"{PROGRAM}:{first}"],
        ["Model", 1, f"{PROGRAM}:{first + 1}"],
    ]


def test_other_allocations_at_the_same_address_are_ignored(interpreter):
    answer = answer_of(interpreter, "reused")
    assert len(set(answer["addresses"])) == 1, "the stand-in must reuse the address"
    assert locations_of(answer) == [LEAK]


def test_allocation_older_than_the_history_has_no_location(main_interpreter):
    answer = answer_of(main_interpreter, "begun_late")
    assert locations_of(answer) == [None]
    assert answer["skipped"] == {"owners not found in torch's memory history": 1}


def test_unreadable_history_is_logged_once(main_interpreter):
    answer = answer_of(main_interpreter, "raising")
    assert locations_of(answer) == [None, None]
    assert answer["skipped"] == {
        "allocation sites not looked up: torch's memory history could not be read": 2
    }
    (message,) = answer["logged"]
    assert "ZeroDivisionError" in message


def test_lookups_respect_the_budget(main_interpreter):
    answer = answer_of(main_interpreter, "over_budget")
    assert answer["owners"] == [["Model", 1, LEAK], ["Trainer", 1, None]]
    assert answer["calls"]["snapshot"] == 1
    assert answer["skipped"] == {"allocation sites not looked up: over budget": 1}


def test_snapshot_triggers_no_collection(interpreter):
    answer = answer_of(interpreter, "automatic_collections")
    assert answer["kept"] == ["0 collections amid 10000 lists", "enabled"]
    assert locations_of(answer) == [LEAK]
