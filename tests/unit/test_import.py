# SPDX-License-Identifier: Apache-2.0
"""The package's import cost, public names, metadata and .start file (PEP 829)."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]

ADDED_MODULES = """
import json, sys
before = set(sys.modules)
import cyclewatch
{call}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


SLOW = {"asyncio", "dataclasses", "inspect", "logging", "tempfile"}


@pytest.mark.parametrize(
    ("call", "excluded"),
    [("", SLOW | {"importlib", "threading"}), ("cyclewatch.watch()", SLOW | {"threading"})],
    ids=["import", "watch"],
)
def test_no_slow_module_is_loaded(interpreter, call, excluded):
    """`threading` would also change the program, which may test whether it has been imported."""
    added = set(json.loads(interpreter.run(ADDED_MODULES.format(call=call)).stdout))
    others = {name.split(".")[0] for name in added} - {"cyclewatch"}
    assert others <= sys.stdlib_module_names
    assert not others & excluded


def test_settings_do_not_load_the_extension(interpreter):
    outcome = interpreter.run("""
        import sys
        import cyclewatch.settings.table
        print(*sorted(name for name in sys.modules if name.startswith("cyclewatch.")))
    """)
    expected = [
        "cyclewatch.settings",
        "cyclewatch.settings.arguments",
        "cyclewatch.settings.kinds",
        "cyclewatch.settings.table",
    ]
    assert outcome.stdout.split() == expected


def test_package_can_be_imported_again(interpreter):
    outcome = interpreter.run("""
        import sys
        import cyclewatch
        first = cyclewatch.watch
        del sys.modules["cyclewatch"], cyclewatch
        import cyclewatch
        print(cyclewatch.watch is first, "watch" in dir(cyclewatch))
    """)
    assert outcome.stdout.split() == ["True", "True"]


def test_version_is_that_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cyclewatch.__version__ == project["version"]


def test_package_has_no_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == []


# As site.py does (PEP 829): resolve the line in the file, and call the result without arguments.
START_PROGRAM = """
import pkgutil, sys
pkgutil.resolve_name(sys.argv[1])()
print("cyclewatch.process_watch" in sys.modules)
"""


@pytest.mark.parametrize(("value", "started"), [("1", "True"), ("0", "False"), (None, "False")])
def test_entry_point_starts_a_watch_only_on_request(tmp_path, value, started):
    """Python 3.15 and later call the entry point at startup."""
    line = (ROOT / "cyclewatch" / "cyclewatch-autostart.start").read_text().strip()
    environment = {name: v for name, v in os.environ.items() if not name.startswith("CYCLEWATCH")}
    environment["PYTHONPATH"] = str(ROOT)
    if value is not None:
        environment["CYCLEWATCH"] = value
    outcome = subprocess.run(
        [sys.executable, "-S", "-c", START_PROGRAM, line],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout.strip() == started
