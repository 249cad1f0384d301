# SPDX-License-Identifier: Apache-2.0
"""The rooms of the Python package: at import, each imports only those above it in house.md."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "cyclewatch"


def documented_rooms():
    """The rooms in the order of the table in docs/design/house.md."""
    text = (ROOT / "docs" / "design" / "house.md").read_text(encoding="utf-8")
    table = text.partition("| room | purpose |\n|---|---|\n| `")[2].partition("\n\n")[0]
    return re.findall(r"^(?:\| `)?(\w+)`", table, re.MULTILINE)


def imported_rooms(path):
    """The rooms of the package that the module at `path` imports when it is imported."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Import):
            names = [each.name for each in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            names = [f"{statement.module}.{each.name}" for each in statement.names]
        else:
            continue
        for name in names:
            package, *inner = name.split(".")
            if package == "cyclewatch" and inner and (PACKAGE / inner[0]).is_dir():
                yield inner[0]


def test_table_contains_every_room():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(documented_rooms()) == sorted(folders)


def test_rooms_import_only_rooms_above_them():
    rooms = documented_rooms()
    wrong = [
        f"{path.relative_to(ROOT)} imports {room}"
        for path in PACKAGE.glob("*/*.py")
        for room in imported_rooms(path)
        if rooms.index(room) > rooms.index(path.parent.name)
    ]
    assert wrong == []
