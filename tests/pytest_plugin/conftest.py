# SPDX-License-Identifier: Apache-2.0
"""A small project with a loop to find, and pytest runs over it."""

import pytest

import cyclewatch

# Loaded now: pytester forgets every module that a run in this process was the first to import.
import cyclewatch.pytest_plugin.switch

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
    """A module that says so runs its projects with each of its `KINDS`."""
    if "kind" in metafunc.fixturenames and hasattr(metafunc.module, "KINDS"):
        metafunc.parametrize("kind", metafunc.module.KINDS, indirect=True)


@pytest.fixture(autouse=True)
def as_a_person_would(monkeypatch):
    """pytest says more in its summary where it finds itself in CI; tests of that set it anew."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kind(request):
    """What the loops keep: buffers of a registered type, or tensors where a test asks for them."""
    kind = getattr(request, "param", "buffers")
    if kind == "tensors":
        pytest.importorskip("torch")
    return kind


# `kind` comes first: pytester would forget that torch was imported, and nobody can import it twice.
@pytest.fixture
def project(kind, pytester, monkeypatch):
    """A folder with `loops.py`: Engine and Trainer make a loop, Buffer alone makes none."""
    # A test file that is written anew in the same second, with the same length, must be read anew.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    source = OF_TENSORS if kind == "tensors" else OF_BUFFERS
    pytester.makepyfile(loops=ENGINES + source)
    pytester.syspathinsert()
    yield pytester
    if kind == "buffers":
        import loops

        cyclewatch.unregister_owner(loops.Buffer)


@pytest.fixture
def run(project):
    """Runs pytest over the given test file, in this process: ``run("--cyclewatch", source)``."""

    def run_tests(*arguments, **files):
        if files:
            project.makepyfile(**files)
        # Loading hypothesis again would take longer than the run; asyncio's plugin warns.
        others = ("cacheprovider", "hypothesispytest", "asyncio")
        without = [f"-pno:{name}" for name in others]
        return project.runpytest_inprocess(*without, *arguments)

    return run_tests
