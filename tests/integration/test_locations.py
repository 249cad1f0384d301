# SPDX-License-Identifier: Apache-2.0
"""Locations and source lines of attribute stores; allocation sites if tracemalloc is tracing."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "located_cycles.py"
ALLOCATING = PROGRAM.with_name("allocated_cycles.py")
LINES = ALLOCATING.read_text().splitlines()


def marked_lines():
    """Map each label in the program's `# <- LABEL...` comments to the comment's location."""
    marked = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if found := re.search("# <- (.*)", line):
            marked |= dict.fromkeys(found[1].split(), f"{PROGRAM}:{number}")
    return marked


@pytest.mark.parametrize("mode", ["", "trace"])
def test_attributes_are_located_where_they_are_stored(interpreter, mode):
    located = json.loads(interpreter.run(PROGRAM, *mode.split()).stdout)
    unknown = dict.fromkeys(("by_computed_name", "twice"))  # the class does not store them
    marked = {"wide": "wide.py:304"} | unknown | marked_lines()
    assert located == {attribute: [line] for attribute, line in marked.items()}


def test_line_of_a_script_outside_of_functions(interpreter):
    program = PROGRAM.with_name("module_level_cycle.py")
    lines = program.read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.endswith("# <-")]
    assert interpreter.run(program).stdout.strip() == f"{program}:{line}"


def line_of(text):
    """The location of the only program line equal to `text`, which may omit the indentation."""
    (number,) = [number for number, line in enumerate(LINES, 1) if text in (line, line.strip())]
    return f"{ALLOCATING}:{number}"


def allocations(interpreter, *arguments):
    return json.loads(interpreter.run(ALLOCATING, *arguments).stdout)


def test_locations_of_owners_and_of_a_list(interpreter):
    answer = allocations(interpreter, 5)
    assert {(mib, count): location for mib, _, count, location in answer["owners"]} == {
        (8, 1): line_of("kept.append(Buffer(8))"),
        (7, 1): line_of("kept.append(Slotted(7))"),
        (6, 1): line_of('kept.append(library["make"](Buffer, 6))'),  # not the library's line
        (1, 2): line_of("        kept.append(Buffer(1))"),
        (1, 1): line_of("    kept.append(Buffer(1))"),  # equal, but allocated elsewhere
    }
    assert answer["holder"] == f"{ALLOCATING}:{LINES.index('def cycle_of_buffers():') + 2}"
    card = answer["card"].splitlines()
    line = line_of("kept.append(Buffer(8))").rpartition(":")[2]
    unwrapped = re.sub(r"/\s+", "/", answer["card"])  # a long path continues in the next line
    assert re.search(rf"allocated at \S*allocated_cycles\.py:{line}$", unwrapped, re.MULTILINE)
    assert len(card) <= 25 and max(map(len, card)) <= 100


def test_innermost_frame_is_used_if_only_one_is_recorded(interpreter):
    locations = {mib: location for mib, _, _, location in allocations(interpreter, 1)["owners"]}
    assert locations[8] == line_of("kept.append(Buffer(8))")
    assert locations[6] == "/x/site-packages/lib.py:1"


def test_no_locations_without_tracing(interpreter):
    traced, bare = allocations(interpreter, 5), allocations(interpreter, 0)
    assert {location for *_, location in bare["owners"]} == {None}
    assert bare["holder"] is None
    assert bare["collected"] == traced["collected"]
    assert "allocated at" not in bare["card"]


@pytest.mark.parametrize("frames", [1, 5])
def test_locations_of_tensors(torch_interpreter, frames):
    owners = allocations(torch_interpreter, frames, "torch")["owners"]
    locations = {kind: location for _, kind, _, location in owners}
    zeros = line_of("kept.append(torch.zeros(8, MIB, dtype=torch.uint8))")
    assert locations["torch.Tensor"] == zeros
    # Gradients are not allocated as Python objects.
    assert locations["torch.nn.parameter.Parameter (.grad)"] is None
    if frames > 1:
        parameter = line_of("kept.append(torch.nn.Parameter(torch.zeros(5, MIB // 4)))")
        assert locations["torch.nn.parameter.Parameter"] == parameter


SHOWN = """\
import gc, json, operator, sys
import cyclewatch
class Parent:
    def __init__(self):
        self.child = Child(self)
class Child:
    answer = {"device": "cpu", "nbytes": 8}
    def __init__(self, parent):
        self.é, self.parent = 1, parent
cyclewatch.register_owner(Child, operator.attrgetter("answer"))
gc.disable()
with cyclewatch.watch(devices="cpu", budget=1) as watch:
    Parent()
    exec(sys.argv[1])
    gc.collect()
cut = watch.report().findings[0].cut
source = cut.source and [cut.source.first_line, cut.source.lines, cut.source.columns]
print(json.dumps([cut.location, source]))
"""


def source_of_cut(interpreter, path, act="pass", **environment):
    path.write_text(SHOWN)
    location, source = json.loads(interpreter.run(path, act, **environment).stdout)
    assert location == f"{path}:9"
    return source


def test_the_cut_is_shown_with_its_columns(interpreter, tmp_path):
    first, lines, (start, end) = source_of_cut(interpreter, tmp_path / "program.py")
    assert [first, lines] == [8, SHOWN.splitlines()[7:10]]
    assert lines[1][start - 1 : end - 1] == "self.parent"


def test_columns_are_unknown_if_python_does_not_record_them(interpreter, tmp_path):
    path = tmp_path / "program.py"
    _, lines, columns = source_of_cut(interpreter, path, PYTHONNODEBUGRANGES="1")
    assert columns is None
    assert lines[1].endswith("= 1, parent")


def test_a_changed_program_is_not_shown(interpreter, tmp_path):
    act = "import os; os.utime(__file__)"
    assert source_of_cut(interpreter, tmp_path / "program.py", act) is None
