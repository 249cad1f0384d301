# SPDX-License-Identifier: Apache-2.0
"""What the real CUDA runtime does without a driver, and that a watch does not call it then.

docs/design/devices.md relies on these facts. No GPU is needed: a decoy replaces the driver
and records that it was loaded.
"""

import ctypes
import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "programs" / "real_runtime_program.py"
INSUFFICIENT_DRIVER = 35


def runtimes():
    """One libcudart of each version in the toolkit, the build's headers and site-packages."""
    places = [
        Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")),
        ROOT / ".build" / "cuda-headers",
        Path(sysconfig.get_path("purelib")) / "nvidia",
    ]
    found = {}
    for place in places:
        for path in sorted(place.glob("**/libcudart.so.[0-9][0-9]")):
            found.setdefault(path.suffix, path)
    return found


RUNTIMES = runtimes()
pytestmark = pytest.mark.skipif(not RUNTIMES, reason="no CUDA toolkit and no runtime wheel")


def functions_used():
    """The functions of the runtime that the extension looks up."""
    source = (ROOT / "src" / "device" / "cuda_runtime.cpp").read_text(encoding="utf-8")
    return re.findall(r'{"(cuda\w+)", found', source)


@pytest.fixture(params=RUNTIMES.values(), ids=RUNTIMES.keys())
def library(request):
    """Path of a real libcudart."""
    return request.param


@pytest.fixture
def call(tmp_path, cuda_decoy, library):
    """Runs real_runtime_program.py in a new process: call(interpreter, what)."""

    def in_new_process(interpreter, what):
        mark = tmp_path / "mark"
        outcome = interpreter.run(
            PROGRAM,
            library,
            mark,
            what,
            LD_LIBRARY_PATH=str(cuda_decoy.parent),
            CYCLEWATCH_DECOY_MARK=str(mark),
        )
        return json.loads(outcome.stdout)

    return in_new_process


def test_every_function_exists(library):
    names = functions_used()
    assert len(names) > 10
    runtime = ctypes.CDLL(str(library))
    assert [name for name in names if not hasattr(runtime, name)] == []


def test_only_the_version_is_free(call, main_interpreter):
    assert call(main_interpreter, "cudaRuntimeGetVersion") == [False, 0, False]


@pytest.mark.parametrize(
    "function",
    [*(name for name in functions_used() if name != "cudaRuntimeGetVersion"), "cudaGetDeviceCount"],
)
def test_every_other_call_loads_the_driver(call, main_interpreter, function):
    error = 0 if function == "cudaDriverGetVersion" else INSUFFICIENT_DRIVER
    assert call(main_interpreter, function) == [False, error, True]


def test_a_watch_does_not_call_the_runtime(call, interpreter):
    assert call(interpreter, "watch") == [False, 1, False]


def test_the_sample_needs_a_device(cuda_sample):
    """tests/gpu/sample.cu also runs where there is no device; make gpu-test runs it on one."""
    outcome = subprocess.run([cuda_sample], capture_output=True, text=True, check=False)
    if outcome.returncode == 0:
        assert outcome.stdout == "all queries passed\n"
    else:
        assert outcome.returncode == 77
        assert outcome.stdout.startswith("no usable device: cudaError")
