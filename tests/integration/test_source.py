# SPDX-License-Identifier: Apache-2.0
"""The source code of a program in its reports, on every interpreter."""

import json

PROGRAM = """\
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
    path.write_text(PROGRAM)
    location, source = json.loads(interpreter.run(path, act, **environment).stdout)
    assert location == f"{path}:9"
    return source


def test_the_cut_is_shown_with_its_columns(interpreter, tmp_path):
    first, lines, (start, end) = source_of_cut(interpreter, tmp_path / "program.py")
    assert [first, lines] == [8, PROGRAM.splitlines()[7:10]]
    assert lines[1][start - 1 : end - 1] == "self.parent"


def test_columns_are_unknown_if_python_does_not_record_them(interpreter, tmp_path):
    path = tmp_path / "program.py"
    _, lines, columns = source_of_cut(interpreter, path, PYTHONNODEBUGRANGES="1")
    assert columns is None
    assert lines[1].endswith("= 1, parent")


def test_a_changed_program_is_not_shown(interpreter, tmp_path):
    act = "import os; os.utime(__file__)"
    assert source_of_cut(interpreter, tmp_path / "program.py", act) is None
