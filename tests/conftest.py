# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all tests: interpreters, child processes and libraries to preload."""

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
# All timeouts are multiplied by this; scripts/sanitize sets it.
PATIENCE = int(os.environ.get("CYCLEWATCH_TEST_PATIENCE", "1"))


def pytest_addoption(parser, pluginmanager):
    """If pytest-asyncio is not installed, declare its options, which pyproject.toml sets."""
    if not pluginmanager.has_plugin("asyncio"):
        parser.addini("asyncio_default_fixture_loop_scope", "pytest-asyncio's own")


def pytest_configure():
    """Restore the SIGINT handler, because shells make background jobs ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """An interpreter that can import cyclewatch; only the first one can also import torch."""

    path: str
    has_torch: bool

    def run(
        self,
        program,
        *arguments,
        through=(),
        check=True,
        cwd=None,
        timeout=120,
        words="",
        **environment,
    ):
        """Run `program` (a path or source text) in a child process, with `words` as its stdin.

        `through`: words before the program, such as ``-m`` and the name of a module that runs it.
        """
        start = [str(program)] if isinstance(program, Path) else ["-c", textwrap.dedent(program)]
        outcome = subprocess.run(
            [self.path, "-X", "faulthandler", *through, *start, *map(str, arguments)],
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
        """Whether this is a free-threaded build."""
        program = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))"
        return self.run(program).stdout.strip() == "1"

    def environment(self):
        """An environment in which cyclewatch can be imported from any directory."""
        variables = {name: value for name, value in os.environ.items() if name != "RANK"}
        package = os.environ.get("CYCLEWATCH_PACKAGE", str(ROOT))  # scripts/sanitize
        paths = [package, *filter(None, [os.environ.get("CYCLEWATCH_TEST_TOOLS")])]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
        return variables

    def path_with(self, folder):
        """PYTHONPATH with cyclewatch and `folder`."""
        return os.pathsep.join([self.environment()["PYTHONPATH"], str(folder)])


def running_interpreter():
    """The interpreter that runs the tests."""
    return Interpreter(sys.executable, importlib.util.find_spec("torch") is not None)


def known_interpreters():
    """The running interpreter and all other interpreters that the extension was built for."""
    if os.environ.get("CYCLEWATCH_ONE_INTERPRETER"):
        return [running_interpreter()]
    built = BUILD / "interpreters.txt"
    others = built.read_text().split() if built.exists() else []
    return [running_interpreter(), *(Interpreter(path, False) for path in others)]


def interpreter_name(interpreter):
    """A short name for test ids, such as python3.12."""
    return Path(interpreter.path).resolve().name


@pytest.fixture(params=known_interpreters(), ids=interpreter_name)
def interpreter(request):
    """Each interpreter."""
    return request.param


@pytest.fixture
def all_interpreters():
    """All interpreters, the running one first."""
    return known_interpreters()


@pytest.fixture
def main_interpreter():
    """The interpreter that runs the tests."""
    return running_interpreter()


@pytest.fixture(scope="session")
def installation():
    """Skips the test unless the package is installed, with its command and its .pth file."""
    if not Path(sys.executable).with_name("cyclewatch").exists():
        pytest.skip("cyclewatch is on PYTHONPATH, but not installed in this interpreter")


@pytest.fixture
def frozen_objects_are_listed(main_interpreter):
    """Skips the test on interpreters whose frozen objects cannot be listed."""
    if main_interpreter.free_threaded:
        pytest.skip("free-threaded builds do not list frozen objects")


@pytest.fixture
def torch_interpreter(main_interpreter):
    """The interpreter that runs the tests, if it has torch."""
    if not main_interpreter.has_torch:
        pytest.skip("torch is not installed for this interpreter")
    return main_interpreter


@pytest.fixture(scope="session")
def build_folder():
    """The build tree of the tested extension."""
    return BUILD


def built_library(name):
    """Path of a library for LD_PRELOAD."""
    path = BUILD / "tests" / name
    assert path.exists(), f"{path} is missing; run make build"
    return path


@pytest.fixture(scope="session")
def backwards_clock():
    """Path of a preloadable library that makes clocks run backwards."""
    return built_library("libbackwards_clock.so")


@pytest.fixture(scope="session")
def failing_allocator():
    """Path of a preloadable library that can make allocations by C++ or CPython fail."""
    return built_library("libfailing_allocator.so")


@pytest.fixture(scope="session")
def failing_disk():
    """Path of a preloadable library that makes writes to reports fail if FAILING_DISK is set."""
    return built_library("libfailing_disk.so")


@pytest.fixture(scope="session")
def simulated_cuda():
    """Paths of the simulated CUDA driver and runtime (tests/simulated_runtime)."""
    return [built_library(f"simulated/{name}") for name in ("libcuda.so.1", "libcudart.so.13")]


@pytest.fixture(scope="session")
def cuda_decoy():
    """Path of a libcuda.so.1 that only records that it was loaded."""
    return built_library("decoy/libcuda.so.1")


@pytest.fixture(scope="session")
def cuda_sample():
    """Path of the program that the build compiles from tests/gpu/sample.cu."""
    path = BUILD / "tests" / "cuda_sample"
    if not path.exists():
        pytest.skip("the build found no nvcc")
    return path


@pytest.fixture(scope="session")
def no_network():
    """Path of a preloadable library that ends programs that start a process or open a socket."""
    with open(sys.executable, "rb") as executable:
        if executable.read(2) == b"#!":
            pytest.skip("this interpreter is a script, which starts a process")
    return built_library("libno_network.so")


def pytest_collection_modifyitems(items):
    """Skip tests that need a GPU if no GPU is available."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return
    for item in on_gpu:
        item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
