# SPDX-License-Identifier: Apache-2.0
"""The line that a finding names is the one that a programmer would open."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "located_cycles.py"


def marked_lines(arrow):
    """The attributes in the comments `# <- ...` of the program, and the lines that they mark."""
    marked = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if found := re.search(rf"# {arrow} (.*)", line):
            marked |= dict.fromkeys(found[1].split(), f"{PROGRAM}:{number}")
    return marked


@pytest.mark.parametrize("way", ["", "trace"])
def test_attributes_are_located_where_they_are_stored(interpreter, way):
    said = json.loads(interpreter.run(PROGRAM, *way.split()).stdout)
    marked = {"wide": "wide.py:304"} | marked_lines("<-")
    if said["classes_know_their_line"]:
        marked |= marked_lines("<=")
    assert said["located"] == {attribute: [line] for attribute, line in marked.items()}
