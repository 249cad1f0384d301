# SPDX-License-Identifier: Apache-2.0
"""The first path that why_alive() returns for small programs, and the table of these paths.

CYCLEWATCH_UPDATE_ACCURACY=1 in the environment rewrites the table in docs/accuracy.md.
"""

import ast
import functools
import json
import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TABLE = FOLDER.parents[1] / "docs" / "accuracy.md"
SECTION = "\n## What keeps an object alive\n"
HEAD = """
Each row of the second table describes a program in `tests/live/cases.py` that keeps an object alive
by mistake. *First path* is the first path that `why_alive()` returns, and *Cut* shows the label and
the target of the reference `path.cut`. *Expected* is the number of programs whose first path is the
one that `cases.py` declares. *Frees* is the number of these programs for which `path.cut_frees` is
true. The programs and the path search were developed together.

| Python | Programs | Expected | Frees |
|---|---|---|---|
"""

sys.path.insert(0, str(FOLDER))

import cases  # noqa: E402


@functools.cache
def outcome(interpreter):
    return json.loads(interpreter.run(FOLDER / "run_cases.py").stdout)


@pytest.fixture
def live_answers(all_interpreters):
    """For each version and case: the first path, its cut, and whether the cut frees the object."""
    outcomes = [outcome(each) for each in all_interpreters if not each.free_threaded]
    return {each["version"]: each["answers"] for each in outcomes}


def expected(name):
    return cases.CASES[name][1].format("cases")


@pytest.mark.parametrize("name", cases.CASES)
def test_first_path_and_its_cut_are_the_expected_ones(live_answers, name):
    for version, answers in live_answers.items():
        if name in answers or not cases.CASES[name][3]:
            assert answers[name] == [expected(name), cases.CASES[name][2], True], version


PROGRAMS = sorted(FOLDER.glob("programs/*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.stem)
def test_program_that_was_written_without_the_search(interpreter, program):
    """The program prints the last line of its docstring."""
    source = program.read_text()
    if "import torch" in source and not interpreter.has_torch:
        pytest.skip("needs torch")
    expected = ast.get_docstring(ast.parse(source)).splitlines()[-1]
    assert interpreter.run(program).stdout == f"{expected}\n"


def test_roots_have_the_same_names_on_every_interpreter(interpreter):
    outcome = interpreter.run(FOLDER / "roots.py")
    assert outcome.stdout.splitlines() == [
        "local() local thing -> thing.part",
        "module global __main__.uses -> uses[0] -> use() closure thing",
        "module global __main__.uses -> uses[0] -> generate() local thing",
        "class attribute __main__.Thing.cached -> cached call[0]",
        "context variable variable",
        "module global __main__.storage -> storage.thing",
        "handled exception ValueError -> ValueError.__traceback__ -> fail() local argument",
        "[] []",
    ]


def section(live_answers):
    lines = []
    for version, answers in live_answers.items():
        right = [name for name, answer in answers.items() if answer[0] == expected(name)]
        frees = sum(answers[name][2] for name in right)
        lines.append(f"| {version} | {len(answers)} | {len(right)} | {frees} |")
    lines += ["", "| Program | What happens | First path | Cut |", "|---|---|---|---|"]
    first = next(iter(live_answers.values()))
    for name, answer in first.items():
        summary = cases.CASES[name][0].__doc__
        lines.append(f"| `{name}` | {summary} | `{answer[0]}` | `{answer[1]}` |")
    return SECTION + HEAD + "\n".join(lines) + "\n"


def test_section_of_the_table_is_current(live_answers):
    text = TABLE.read_text()
    before, _, stored = text.partition(SECTION)
    current = section(live_answers)
    if os.environ.get("CYCLEWATCH_UPDATE_ACCURACY"):
        TABLE.write_text(before + current)
        return
    if any(f"\n| {version} |" not in stored for version in live_answers):
        pytest.skip("the table was written without one of the interpreters")
    if stored.count("\n| 3.") != len(live_answers):
        pytest.skip("the table was written with more interpreters than are available")
    assert SECTION + stored == current, "run the tests in tests/live again with the switch"
