# SPDX-License-Identifier: Apache-2.0
"""Checks that src/ follows the include rules in docs/design/house.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SUFFIXES = {".h", ".c", ".cpp"}


def read_rules(text):
    """Map each room (directory of src/) to its permitted includes, as listed in house.md."""
    table = text.split("## Who may include whom", 1)[1].split("\n## ", 1)[0]
    rules = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in {"room", "---"}:
            allowed = {word.strip() for word in cells[1].split(",")} - {"-"}
            rules[cells[0]] = allowed
    return rules


def needed_permission(include, rooms):
    """Return the permissions, any of which allows `include`; empty if none is needed."""
    first = include.split("/", 1)[0]
    if first in rooms:
        return {first, include}
    if first == "pybind11":
        return {"pybind11"}
    if include in {"Python.h", "structmember.h", "frameobject.h"} or include.startswith(
        ("internal/pycore", "cpython/")
    ):
        return {"Python.h"}
    return set()


def violations(room, text, rules):
    """The forbidden includes in `text`, which is the contents of a file in the directory `room`."""
    found = []
    for include in INCLUDE.findall(COMMENT.sub("", text)):
        needed = needed_permission(include, rules.keys())
        if needed and not needed & (rules[room] | {room}):
            found.append(include)
    return found


RULES = read_rules((ROOT / "docs" / "design" / "house.md").read_text(encoding="utf-8"))


def source_files():
    """Every C and C++ file in src/."""
    return sorted(path for path in SOURCE.rglob("*") if path.suffix in SUFFIXES)


def room_of(path):
    """The directory of src/ that contains `path`."""
    return path.relative_to(SOURCE).parts[0]


def files_with(pattern, outside):
    """Source files whose code matches `pattern`, except files in the directory `outside`."""
    return [
        str(path.relative_to(ROOT))
        for path in source_files()
        if room_of(path) != outside
        and re.search(pattern, COMMENT.sub("", path.read_text(encoding="utf-8")))
    ]


def test_every_room_is_in_the_table():
    assert {room_of(path) for path in source_files()} <= RULES.keys()


@pytest.mark.parametrize("room", RULES)
def test_room_includes_only_what_the_table_allows(room):
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in source_files()
        if room_of(path) == room
        and (wrong := violations(room, path.read_text(encoding="utf-8"), RULES))
    }
    assert found == {}


def test_only_compat_uses_the_interpreter_version():
    assert files_with(r"\bPY_(VERSION_HEX|MINOR_VERSION)\b", outside="compat") == []


def test_only_the_code_of_pictures_includes_graphviz():
    found = files_with(r"#\s*include\s*<(cgraph|cdt|gv\w*)\.h>", outside="")
    assert found
    assert {str(Path(path).parent) for path in found} == {"src/render/graph"}


def test_only_python_counts_references():
    assert files_with(r"\bPy_X?(INCREF|DECREF|NewRef)\b", outside="python") == []


@pytest.mark.parametrize(
    ("room", "line", "wrong"),
    [
        ("model", "#include <Python.h>", ["Python.h"]),
        ("analysis", '#include "report/report_store.h"', ["report/report_store.h"]),
        ("capture", '#include "collector/gc_hook.h"', ["collector/gc_hook.h"]),
        ("capture", '#include "collector/unreachable_set.h"', []),
        ("device", "  #  include <internal/pycore_gc.h>", []),
        ("render", "#include <pybind11/pybind11.h>", ["pybind11/pybind11.h"]),
        ("model", '// #include "watch/watch.h"', []),
        ("model", '#include "model/ids.h"\n#include <vector>', []),
    ],
)
def test_violations(room, line, wrong):
    assert violations(room, line, RULES) == wrong
