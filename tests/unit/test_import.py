# SPDX-License-Identifier: Apache-2.0
"""Cost of the import, public names and metadata of the package."""

import importlib.metadata
import json
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]

ADDED_MODULES = """
import json, sys
before = set(sys.modules)
import cyclewatch
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_import_loads_no_slow_module(interpreter):
    added = set(json.loads(interpreter.run(ADDED_MODULES).stdout))
    others = {name.split(".")[0] for name in added} - {"cyclewatch"}
    assert others <= sys.stdlib_module_names
    assert not others & {"asyncio", "dataclasses", "importlib", "inspect", "logging", "tempfile"}


def test_every_public_name_has_a_docstring():
    for name in cyclewatch.__all__:
        public = getattr(cyclewatch, name)
        assert name == "__version__" or public.__doc__, name


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


def test_development_pins_satisfy_the_build_requirements():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    allowed = {
        wanted.name: wanted for wanted in map(Requirement, build["build-system"]["requires"])
    }
    lines = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    for name in ("pybind11", "scikit-build-core"):
        assert allowed[name].specifier.contains(pins[name])
    assert importlib.metadata.version("pybind11") == pins["pybind11"]
