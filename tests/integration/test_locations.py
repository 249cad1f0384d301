# SPDX-License-Identifier: Apache-2.0
"""A finding names the line that stores the reference."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "located_cycles.py"


def marked_lines(arrow):
    """Attributes in the comments `# <- ...` of the program, with the marked lines."""
    marked = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if found := re.search(rf"# {arrow} (.*)", line):
            marked |= dict.fromkeys(found[1].split(), f"{PROGRAM}:{number}")
    return marked


@pytest.mark.parametrize("mode", ["", "trace"])
def test_attributes_are_located_where_they_are_stored(interpreter, mode):
    answer = json.loads(interpreter.run(PROGRAM, *mode.split()).stdout)
    marked = {"wide": "wide.py:304"} | marked_lines("<-")
    if answer["classes_know_their_line"]:
        marked |= marked_lines("<=")
    assert answer["located"] == {attribute: [line] for attribute, line in marked.items()}
