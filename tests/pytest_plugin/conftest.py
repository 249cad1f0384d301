# SPDX-License-Identifier: Apache-2.0
"""A small project with a loop to find, and pytest runs over it."""

import pytest

import cyclewatch

# Loaded now: pytester forgets every module that a run in this process was the first to import.
import cyclewatch.pytest_plugin.switch

# In place of torch, whose import would take longer than the whole run.
LOOPS = """
import cyclewatch


class Buffer:
    def __init__(self, size):
        self.size = size


def read(buffer):
    return {"device": "cpu", "nbytes": buffer.size, "data_ptr": id(buffer)}


cyclewatch.register_owner(Buffer, read)


class Engine:
    def __init__(self, size=4 * 2**20):
        self.buffer = Buffer(size)
        self._handlers = [lambda: self]


class Trainer:
    def __init__(self, size=2**20):
        self.buffer = Buffer(size)
        self.loss = lambda: self
"""


@pytest.fixture
def project(pytester):
    """A folder with `loops.py`: Engine and Trainer make a loop, Buffer alone makes none."""
    pytester.makepyfile(loops=LOOPS)
    pytester.syspathinsert()
    yield pytester
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
