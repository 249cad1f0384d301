# SPDX-License-Identifier: Apache-2.0
"""What every test may use: the interpreters on this machine, child processes."""

import dataclasses
import functools
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("CYCLEWATCH_TEST_BUILD", ROOT / ".build" / "dev"))
# How many times longer than usual programs may take: scripts/sanitize
PATIENCE = int(os.environ.get("CYCLEWATCH_TEST_PATIENCE", "1"))


def pytest_addoption(parser, pluginmanager):
    """Declare what pyproject.toml says to pytest-asyncio, where that is not there to do so."""
    if not pluginmanager.has_plugin("asyncio"):
        parser.addini("asyncio_default_fixture_loop_scope", "pytest-asyncio's own")


def pytest_configure():
    """Take SIGINT as a terminal's programs do: what a shell starts in the background ignores it,
    and so would every program that a test starts and interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that can import cyclewatch; only the first of them may have torch."""

    path: str
    has_torch: bool

    def run(self, program, *arguments, check=True, cwd=None, timeout=120, words="", **environment):
        """Run `program`, a path or source text, in a child process and return its outcome.

        It finds `words` on its standard input.
        """
        start = [str(program)] if isinstance(program, Path) else ["-c", textwrap.dedent(program)]
        outcome = subprocess.run(
            [self.path, "-X", "faulthandler", *start, *map(str, arguments)],
            capture_output=True,
            text=True,
            input=words,
            timeout=timeout * PATIENCE,
            cwd=cwd,
            env={**self.environment(), **environment},
        )
        if check and outcome.returncode != 0:
            pytest.fail(
                f"{self.path} ended with {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
            )
        return outcome

    @functools.cached_property
    def free_threaded(self):
        """Whether it is a build without a GIL."""
        asked = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))"
        return self.run(asked).stdout.strip() == "1"

    def environment(self):
        """Variables with which cyclewatch can be imported from any folder."""
        variables = {name: value for name, value in os.environ.items() if name != "RANK"}
        package = os.environ.get("CYCLEWATCH_PACKAGE", str(ROOT))  # scripts/sanitize
        paths = [package, *filter(None, [os.environ.get("CYCLEWATCH_TEST_TOOLS")])]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
        return variables

    def path_with(self, folder):
        """PYTHONPATH on which cyclewatch is found, and what is in `folder`."""
        return os.pathsep.join([self.environment()["PYTHONPATH"], str(folder)])


def running_interpreter():
    """The interpreter that runs the tests."""
    return Interpreter(sys.executable, importlib.util.find_spec("torch") is not None)


def known_interpreters():
    """The running interpreter, and every other one that the build was made for."""
    if os.environ.get("CYCLEWATCH_ONE_INTERPRETER"):
        return [running_interpreter()]
    built = BUILD / "interpreters.txt"
    others = built.read_text().split() if built.exists() else []
    return [running_interpreter(), *(Interpreter(path, False) for path in others)]


def interpreter_name(interpreter):
    """A short name for test ids: the file name of an interpreter tells its version."""
    return Path(interpreter.path).resolve().name


@pytest.fixture(params=known_interpreters(), ids=interpreter_name)
def interpreter(request):
    """Each interpreter of this machine in turn."""
    return request.param


@pytest.fixture
def all_interpreters():
    """All interpreters of this machine, the running one first."""
    return known_interpreters()


@pytest.fixture
def main_interpreter():
    """The interpreter that runs the tests."""
    return running_interpreter()


@pytest.fixture
def torch_interpreter(main_interpreter):
    """The interpreter that runs the tests, for programs that use torch."""
    if not main_interpreter.has_torch:
        pytest.skip("torch is not installed for this interpreter")
    return main_interpreter


def built_library(name):
    """Path of a library that child processes preload."""
    path = BUILD / "tests" / name
    assert path.exists(), f"{path} is missing; run make build"
    return path


@pytest.fixture(scope="session")
def backwards_clock():
    """Path of a library to preload: clocks go backwards then."""
    return built_library("libbackwards_clock.so")


@pytest.fixture(scope="session")
def failing_allocator():
    """Path of a library to preload: allocations of C++ or CPython can be made to fail then."""
    return built_library("libfailing_allocator.so")


@pytest.fixture(scope="session")
def failing_disk():
    """Path of a library to preload: while FAILING_DISK is set, the disk is full for reports."""
    return built_library("libfailing_disk.so")


@pytest.fixture(scope="session")
def simulated_cuda():
    """Paths of the driver and the runtime of tests/simulated_runtime."""
    return [built_library(f"simulated/{name}") for name in ("libcuda.so", "libcudart.so")]


@pytest.fixture(scope="session")
def no_network():
    """Path of a library to preload: a program that starts a process or opens a socket ends then."""
    with open(sys.executable, "rb") as executable:
        if executable.read(2) == b"#!":
            pytest.skip("this interpreter is started by a script, which starts a process")
    return built_library("libno_network.so")


def pytest_collection_modifyitems(items):
    """Skip tests that need a GPU where there is none."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return
    for item in on_gpu:
        item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
