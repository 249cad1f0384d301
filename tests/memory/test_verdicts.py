# SPDX-License-Identifier: Apache-2.0
"""The verdicts of cyclewatch.memory() on ten programs, and their table in the guide."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the programs use torch")

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "guide" / "memory-not-freed.md"

sys.path.insert(0, str(FOLDER))

import programs  # noqa: E402


@pytest.mark.parametrize("name", programs.EXPECTED)
@pytest.mark.usefixtures("torch_interpreter")
def test_the_verdict_is_the_expected_one(main_interpreter, name):
    if main_interpreter.free_threaded and name == "frozen_cycles":
        pytest.skip("frozen objects are not examined on free-threaded builds")
    verdict = main_interpreter.run(FOLDER / "programs.py", name).stdout
    assert " in use on cpu, of which " in verdict
    assert programs.EXPECTED[name][1] in verdict


def test_the_table_of_the_guide_is_current():
    text = PAGE.read_text(encoding="utf-8")
    for name, (happens, expected) in programs.EXPECTED.items():
        shown = expected.partition(" (programs.py")[0].rstrip(": ")
        assert f"| `{name}` | {happens} | {shown} |" in text
