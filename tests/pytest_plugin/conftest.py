# SPDX-License-Identifier: Apache-2.0
"""A small project with reference cycles to find, and pytest runs over it."""

import pytest

import cyclewatch

# Loaded now: pytester forgets every module that a run in this process was the first to import.
import cyclewatch.pytest_plugin.setup

ENGINES = """
class Engine:
    def __init__(self, size=4 * 2**20):
        self.buffer = Buffer(size)
        self._handlers = [lambda: self]


class Trainer:
    def __init__(self, size=2**20):
        self.buffer = Buffer(size)
        self.loss = lambda: self
"""

# Without torch, whose import takes longer than a whole run.
OF_BUFFERS = """

import cyclewatch


class Buffer:
    def __init__(self, size):
        self.size = size


def read(buffer):
    return {"device": "cpu", "nbytes": buffer.size, "data_ptr": id(buffer)}


cyclewatch.register_owner(Buffer, read)
"""

OF_TENSORS = """

import torch


def Buffer(size):
    return torch.zeros(size, dtype=torch.uint8)
"""


def pytest_generate_tests(metafunc):
    """Runs the projects of a module with each of its `KINDS`."""
    if "kind" in metafunc.fixturenames and hasattr(metafunc.module, "KINDS"):
        metafunc.parametrize("kind", metafunc.module.KINDS, indirect=True)


@pytest.fixture(autouse=True)
def as_a_person_would(monkeypatch):
    """pytest prints longer summaries in CI; tests of that set the variable again."""
    for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kind(request):
    """What the cycles keep: buffers of a registered type, or tensors if a test asks for them."""
    kind = getattr(request, "param", "buffers")
    if kind == "tensors":
        pytest.importorskip("torch")
    return kind


# `kind` comes first: pytester would forget that torch was imported, and nobody can import it twice.
@pytest.fixture
def project(kind, pytester, monkeypatch):
    """A folder with `leaky.py`: Engine and Trainer create a cycle, Buffer alone does not."""
    # A test file that is rewritten within a second, with the same length, must be compiled again.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    source = OF_TENSORS if kind == "tensors" else OF_BUFFERS
    pytester.makepyfile(leaky=ENGINES + source)
    pytester.syspathinsert()
    yield pytester
    if kind == "buffers":
        import leaky

        cyclewatch.unregister_owner(leaky.Buffer)


# Loading hypothesis again would take longer than the run; asyncio's plugin warns.
WITHOUT = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "asyncio")]

HEAD = """
import gc, os, sys, threading, unittest, warnings, weakref
import cyclewatch, leaky, pytest
"""


@pytest.fixture
def run(project):
    """Runs pytest over the given test files, in this process or `apart` from it."""

    def run_tests(*options, apart=False, **files):
        for name, source in files.items():
            project.makepyfile(**{name: HEAD + source})
        runner = project.runpytest_subprocess if apart else project.runpytest_inprocess
        return runner(*WITHOUT, *options)

    return run_tests


@pytest.fixture
def check(run):
    """Runs ``pytest --cyclewatch`` over `source` and expects the given outcomes."""

    def check_source(source, *options, apart=False, **outcomes):
        result = run("--cyclewatch", *options, apart=apart, test_it=source)
        result.assert_outcomes(**outcomes)
        return result

    return check_source
