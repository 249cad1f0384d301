# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a small project with reference cycles, and functions that run pytest on it."""

import pytest

import cyclewatch

# Imported now, because pytester unloads modules that were first imported by an in-process run.
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

# Without torch, because its import takes longer than a run.
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


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch):
    """Unset the variables that identify CI, because pytest prints longer summaries in CI."""
    for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kind(request):
    """What the cycles own: "tensors", or "buffers" of a registered type."""
    kind = getattr(request, "param", "buffers")
    if kind == "tensors":
        pytest.importorskip("torch")
    return kind


# `kind` comes first, because torch cannot be imported again after pytester unloads it.
@pytest.fixture
def project(kind, pytester, monkeypatch):
    """A directory with `leaky.py`: Engine and Trainer create a cycle; Buffer does not."""
    # Rewritten test files may have the same size and modification time.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    source = OF_TENSORS if kind == "tensors" else OF_BUFFERS
    pytester.makepyfile(leaky=ENGINES + source)
    pytester.syspathinsert()
    yield pytester
    if kind == "buffers":
        import leaky

        cyclewatch.unregister_owner(leaky.Buffer)


# Importing hypothesis takes longer than the run; pytest-asyncio emits a warning.
WITHOUT = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "asyncio")]

HEAD = """
import gc, os, sys, threading, unittest, warnings, weakref
import cyclewatch, leaky, pytest
"""


@pytest.fixture
def run(project):
    """Runs pytest on the given test files in this process, or in a new one if `apart` is true."""

    def run_tests(*options, apart=False, **files):
        for name, source in files.items():
            project.makepyfile(**{name: HEAD + source})
        runner = project.runpytest_subprocess if apart else project.runpytest_inprocess
        return runner(*WITHOUT, *options)

    return run_tests


@pytest.fixture
def check(run):
    """Runs ``pytest --cyclewatch`` on `source` and checks the outcomes."""

    def check_source(source, *options, apart=False, **outcomes):
        result = run("--cyclewatch", *options, apart=apart, test_it=source)
        result.assert_outcomes(**outcomes)
        return result

    return check_source
