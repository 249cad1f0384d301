# SPDX-License-Identifier: Apache-2.0
"""A watch over a program with a CUDA build of torch that uses only the CPU leaves CUDA alone.

`make matrix` runs these tests with torch's CUDA build; with a CPU build they are skipped.
"""

import json
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, gc, glob, json, os, sys, warnings
import torch
import cyclewatch

def libraries(stem):
    with open("/proc/self/maps") as maps:
        return sorted({line.split("/")[-1].strip() for line in maps if "/" + stem in line})

def searches():
    # The dynamic loader logs each library that it searches for.
    text = "".join(open(path).read() for path in glob.glob(f"{sys.argv[2]}.{os.getpid()}"))
    return text.count("libcuda.so")

class Holder:
    def __init__(self):
        self.me = self
        self.tensor = torch.ones(1024, requires_grad=True)

def leak():
    Holder()
    gc.collect()

before = searches()
warnings.simplefilter("ignore")
with cyclewatch.warn_tensor_cycles(devices=sys.argv[1], report_dir=".", budget=1):
    leak()
with cyclewatch.watch(devices=sys.argv[1], budget=1) as watch:
    leak()
    watch.step(1)
report = watch.report()
report.to_html(), report.to_text(), report.to_svg(), report.to_dot(), report.to_json()
cyclewatch.dead_bytes()
cyclewatch.scan(devices="all")
cyclewatch.live_owners()
with cyclewatch.oom_autopsy():
    pass
result = {
    "owners": [[owner.device for owner in finding.owners] for finding in report.findings],
    "searches": searches() - before,
    "initialized": torch.cuda.is_initialized(),
    "runtime": libraries("libcudart"),
}
if libraries("libcuda.so"):
    driver = ctypes.CDLL("libcuda.so.1")
    result["driver"] = driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    driver.cuInit(0)
    result["driver in use"] = driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
torch.cuda.is_available()
result["searches of torch"] = searches() - before - result["searches"]
print(json.dumps(result))
"""
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED


@pytest.fixture
def run_program(torch_interpreter, tmp_path):
    """Runs PROGRAM with a CUDA build of torch; returns what it has printed."""
    outcome = torch_interpreter.run("import torch; print(torch.version.cuda)")
    if outcome.stdout.strip() == "None":
        pytest.skip("needs a CUDA build of torch (make matrix)")

    def run(devices, **environment):
        log = tmp_path / "loader"
        variables = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(log), "CUDA_VISIBLE_DEVICES": ""}
        # Importing Lightning sets it to 1, so that torch does not look for the driver.
        variables["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"
        outcome = torch_interpreter.run(
            PROGRAM, devices, log, cwd=tmp_path, **variables, **environment
        )
        return json.loads(outcome.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("devices", ["cpu", "auto", "all"])
def test_a_watch_looks_for_no_driver(run_program, tmp_path, devices):
    result = run_program(devices)
    assert result["runtime"], "torch's CUDA build loads the CUDA runtime"
    # All devices are hidden, so "auto" selects the CPU.
    assert result["owners"] == [["cpu"]]
    assert result["searches"] == 0
    assert not result["initialized"]
    # Otherwise the test could not notice a search.
    assert result["searches of torch"] > 0
    (page,) = tmp_path.glob("cyclewatch-*.html")
    assert page.stat().st_size > 1000


def test_a_watch_does_not_initialize_a_driver(run_program, tmp_path, simulated_cuda):
    """The import of torch loads a driver that is on the library path (libcublasLt does)."""
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(Path(simulated_cuda[0]).resolve())
    result = run_program("auto", LD_LIBRARY_PATH=str(folder))
    assert result["owners"] == [["cpu"]]
    assert result["searches"] == 0
    assert result["driver"] == NOT_INITIALIZED
    assert result["driver in use"] == 0
