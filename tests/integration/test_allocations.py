# SPDX-License-Identifier: Apache-2.0
"""While tracemalloc traces, owners and nameless holders say where they were allocated."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "allocated_cycles.py"
LINES = PROGRAM.read_text().splitlines()


def line_of(text):
    """The place of the one line of the program that is `text`; without an indent, of any."""
    (number,) = [number for number, line in enumerate(LINES, 1) if text in (line, line.strip())]
    return f"{PROGRAM}:{number}"


def answer_of(interpreter, *arguments):
    return json.loads(interpreter.run(PROGRAM, *arguments).stdout)


def test_owners_say_where_the_program_made_them(interpreter):
    answer = answer_of(interpreter, 5)
    places = {(mib, count): place for mib, _, count, place in answer["owners"]}
    assert places == {
        (8, 1): line_of("kept.append(Buffer(8))"),
        (7, 1): line_of("kept.append(Slotted(7))"),
        (6, 1): line_of('kept.append(library["make"](Buffer, 6))'),  # not the library's own line
        (1, 2): line_of("        kept.append(Buffer(1))"),
        (1, 1): line_of("    kept.append(Buffer(1))"),  # alike, but made elsewhere
    }


def test_one_recorded_call_is_taken_as_it_is(interpreter):
    places = {mib: place for mib, _, _, place in answer_of(interpreter, 1)["owners"]}
    assert places[8] == line_of("kept.append(Buffer(8))")
    assert places[6] == "/x/site-packages/lib.py:1"


def test_holder_without_code_of_its_own_is_where_it_was_made(interpreter):
    assert (
        answer_of(interpreter, 5)["holder"]
        == f"{PROGRAM}:{LINES.index('def cycle_of_buffers():') + 2}"
    )


def test_without_tracing_no_place_is_said_and_the_collector_says_the_same(interpreter):
    traced, bare = answer_of(interpreter, 5), answer_of(interpreter, 0)
    assert {place for *_, place in bare["owners"]} == {None}
    assert bare["holder"] is None
    assert bare["collected"] == traced["collected"]
    assert "allocated at" not in bare["card"]


def test_card_shows_the_place(main_interpreter):
    card = answer_of(main_interpreter, 5)["card"].splitlines()
    line = line_of("kept.append(Buffer(8))").rpartition(":")[2]
    assert any(re.search(rf"allocated at .*allocated_cycles\.py:{line}$", text) for text in card)
    assert len(card) <= 25 and max(map(len, card)) <= 100


@pytest.mark.parametrize("frames", [1, 5])
def test_tensors_say_where_the_program_made_them(torch_interpreter, frames):
    places = {
        kind: place for _, kind, _, place in answer_of(torch_interpreter, frames, "torch")["owners"]
    }
    assert places["torch.Tensor"] == line_of("kept.append(torch.zeros(8, MIB, dtype=torch.uint8))")
    assert places["torch.nn.parameter.Parameter (.grad)"] is None  # no object of its own
    if frames > 1:
        assert places["torch.nn.parameter.Parameter"] == line_of(
            "kept.append(torch.nn.Parameter(torch.zeros(5, MIB // 4)))"
        )
