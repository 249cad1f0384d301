# SPDX-License-Identifier: Apache-2.0
"""While torch records its memory, owners of new findings say where that memory was allocated."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "recorded_memory.py"
LINES = PROGRAM.read_text().splitlines()
NO_CALLS = {"history": 0, "snapshot": 0, "in a collection": 0}


def line_of(text, nth=1):
    """The place of the nth line of the program that is `text`."""
    numbers = [number for number, line in enumerate(LINES, 1) if line.strip() == text]
    return f"{PROGRAM}:{numbers[nth - 1]}"


LEAK = line_of("holder.weight = Buffer(mib)")


def answer_of(interpreter, scenario, **options):
    return json.loads(interpreter.run(PROGRAM, scenario, **options).stdout)


def places_of(answer):
    return [place for *_, place in answer["owners"]]


def test_owner_says_which_line_of_the_program_allocated_its_memory(interpreter):
    # Neither the C++ calls, nor the library's, but the program's own innermost one.
    answer = answer_of(interpreter, "once")
    assert answer["owners"] == [["Model", 1, LEAK]]
    assert answer["calls"] == {"history": 1, "snapshot": 1, "in a collection": 0}
    assert answer["skipped"] == {}


def test_torch_2_6_answers_in_another_shape(main_interpreter):
    assert places_of(answer_of(main_interpreter, "as_torch_2_6")) == [LEAK]


def test_calls_are_read_as_torch_itself_names_them(torch_interpreter):
    # Otherwise torch starts a program for each library to name C++ calls.
    options = {"TORCH_SYMBOLIZE_MODE": "dladdr", "timeout": 300}
    assert places_of(answer_of(torch_interpreter, "named_by_torch", **options)) == [LEAK]


def test_nothing_is_taken_while_torch_records_nothing(interpreter):
    answer = answer_of(interpreter, "off")
    assert places_of(answer) == [None]
    assert answer["calls"] == {**NO_CALLS, "history": 1}
    assert answer["skipped"] == {}


def test_an_allocator_that_torch_has_not_made_is_not_asked(main_interpreter):
    answer = answer_of(main_interpreter, "without_the_allocator_made")
    assert places_of(answer) == [None]
    assert answer["calls"] == NO_CALLS


def test_a_signature_that_is_known_is_not_looked_up_again(interpreter):
    answer = answer_of(interpreter, "repeated")
    assert answer["occurrences"] == [5]
    assert answer["calls"]["snapshot"] == 1
    # What was not looked up is counted with what was.
    assert answer["owners"] == [["Model", 5, LEAK]]


def test_one_snapshot_serves_all_findings_of_a_collection(main_interpreter):
    answer = answer_of(main_interpreter, "two_kinds_at_once")
    assert answer["owners"] == [["Model", 1, LEAK], ["Trainer", 1, LEAK]]
    assert answer["calls"]["snapshot"] == 1


def test_one_snapshot_serves_all_watches(main_interpreter):
    answer = answer_of(main_interpreter, "two_watches")
    assert places_of(answer) == answer["kept"] == [LEAK]
    assert answer["calls"]["snapshot"] == 1


def test_signature_is_the_same_with_and_without_history(main_interpreter):
    recorded, bare = answer_of(main_interpreter, "once"), answer_of(main_interpreter, "off")
    assert recorded["signatures"] == bare["signatures"]


def test_owners_that_look_alike_are_told_apart_by_their_place(interpreter):
    first = LINES.index("        Buffer(4),") + 1
    answer = answer_of(interpreter, "alike")
    assert answer["owners"] == [
        ["Model", 1, f"{PROGRAM}:{first}"],
        ["Model", 1, f"{PROGRAM}:{first + 1}"],
    ]


def test_other_tenants_of_the_address_are_not_taken_for_it(interpreter):
    answer = answer_of(interpreter, "reused")
    assert len(set(answer["addresses"])) == 1, "the stand-in was to hand one address out again"
    assert places_of(answer) == [LEAK]


def test_what_was_allocated_before_the_history_began_has_no_place(main_interpreter):
    answer = answer_of(main_interpreter, "begun_late")
    assert places_of(answer) == [None]
    assert answer["skipped"] == {"owners not found in torch's memory history": 1}


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("raising", "ZeroDivisionError"),
        ("nonsense", "its answer has an unknown shape"),
        ("gone", "its answer has an unknown shape"),
    ],
)
def test_a_history_that_cannot_be_read_is_said_once(main_interpreter, scenario, reason):
    answer = answer_of(main_interpreter, scenario)
    assert places_of(answer) == [None, None]
    assert answer["skipped"] == {
        "allocation sites not looked up: torch's memory history could not be read": 2
    }
    (message,) = answer["logged"]
    assert reason in message


def test_looking_up_keeps_to_the_budget(main_interpreter):
    answer = answer_of(main_interpreter, "dear")
    assert answer["owners"] == [["Model", 1, LEAK], ["Trainer", 1, None]]
    assert answer["calls"]["snapshot"] == 1
    assert answer["skipped"] == {"allocation sites not looked up: over budget": 1}


def test_a_snapshot_makes_the_program_collect_no_earlier(interpreter):
    answer = answer_of(interpreter, "amid_automatic_collections")
    assert answer["kept"] == ["0 collections amid 10000 lists", "enabled"]
    assert places_of(answer) == [LEAK]


def test_an_interrupt_amid_the_snapshot_is_the_program_s(main_interpreter):
    answer = answer_of(main_interpreter, "interrupted")
    assert answer["kept"] == ["interrupted"]
    assert places_of(answer) == [None]


def test_place_is_told_and_shown_everywhere(main_interpreter):
    answer = answer_of(main_interpreter, "once")
    assert answer["told"] == [LEAK]
    assert f"allocated at {LEAK}" in answer["card"] or "recorded_memory.py:" in answer["card"]
    assert LEAK in answer["json"]
    assert LEAK in answer["html"]


def test_no_address_leaves_the_process(main_interpreter):
    answer = answer_of(main_interpreter, "two_kinds_at_once")
    assert answer["addresses"]
    for address in set(answer["addresses"]):
        assert address not in answer["json"] + answer["html"] + answer["card"]
        assert format(int(address), "x") not in answer["json"]
