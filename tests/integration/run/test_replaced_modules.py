# SPDX-License-Identifier: Apache-2.0
"""Programs that have modules called like those of the standard library."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

SHADOWED = ("argparse", "typing", "re", "gettext", "shutil", "locale", "pkgutil", "fnmatch")
IMPORTS = f"""
    import importlib, sys
    for name in {SHADOWED}:
        print(name, hasattr(importlib.import_module(name), "of_the_program"))
    import copy, types
    print(copy.__file__, types.__file__)
"""


@pytest.mark.parametrize("place", [".", "inner"])
def test_a_module_that_is_called_like_a_standard_one_is_the_programs(
    python, program, interpreter, place
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"{place}/{name}.py")
    path = program(IMPORTS, f"{place}/program.py")
    assert b"typing True" in python.both(path.relative_to(path.parents[place != "."])).stdout


def test_a_module_of_pythonpath_that_is_called_like_a_standard_one_is_the_programs(
    python, program, interpreter, tmp_path
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"vendored/{name}.py")
    program(IMPORTS)
    paths = os.pathsep.join([str(tmp_path / "vendored"), str(ROOT)])
    assert b"typing True" in python.both("program.py", PYTHONPATH=paths).stdout
    assert b"typing True" in python.both("program.py", PYTHONPATH=paths, PYTHONSAFEPATH="1").stdout


def test_what_the_commands_script_imports_is_not_handed_on(python, program, interpreter):
    # Installers write a script for the command that begins like this.
    python.executable = interpreter.path
    command = program(
        """
        import re
        import sys
        from cyclewatch.__main__ import main
        if __name__ == "__main__":
            sys.argv[0] = re.sub(r"(-script[.]pyw|[.]exe)?$", "", sys.argv[0])
            sys.exit(main())
    """,
        "bin/cyclewatch",
    )
    for name in ("re", "enum", "types"):
        program("of_the_program = True", f"own/{name}.py")
    path = program(
        """
        import re, enum, types
        print(re.of_the_program, enum.of_the_program, types.of_the_program)
    """,
        "own/program.py",
    )
    outcome = python.start(command, "run", path)
    assert (outcome.stdout, outcome.stderr) == (b"True True True\n", b"")


@pytest.mark.parametrize("words", [["program.py"], ["-m", "program"], ["-c", "import program"]])
@pytest.mark.parametrize("place", [".", "vendored"])
def test_such_a_module_is_the_programs_where_the_environment_switches_the_watch_on(
    python, program, interpreter, tmp_path, place, words, as_if_installed
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"{place}/{name}.py")
    program(IMPORTS)
    (tmp_path / "site").mkdir()
    paths = f"{tmp_path / 'vendored'}:{as_if_installed(tmp_path / 'site')}"
    plain = python.start(*words, PYTHONPATH=paths)
    watched = python.start(*words, PYTHONPATH=paths, CYCLEWATCH="1")
    assert (watched.stdout, watched.stderr) == (plain.stdout, plain.stderr)
    assert b"typing True" in watched.stdout
