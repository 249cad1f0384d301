# SPDX-License-Identifier: Apache-2.0
"""Runs each check on the CPU and on a CUDA device.

`make gpu-test` runs these tests and publishes their results (run.py). Without a CUDA device, the
tests that need one are skipped.
"""

import json
import os
import sys
from pathlib import Path

import pytest

import cyclewatch

sys.path.insert(0, str(Path(__file__).parent))

from checks import CHECKS  # noqa: E402

CHECKS_PROGRAM = Path(__file__).parent / "checks.py"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ON_CUDA = pytest.param("cuda", marks=pytest.mark.gpu)


def save_results(name, device, results):
    """Save results for the table in docs/gpu.md, if requested by run.py."""
    path = os.environ.get("CYCLEWATCH_GPU_RESULTS")
    if path and device == "cuda":
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, results]) + "\n")


@pytest.mark.parametrize("device", ["cpu", ON_CUDA])
@pytest.mark.parametrize("name", CHECKS)
def test_check(torch_interpreter, name, device):
    # The process fails if an assertion of the check does.
    outcome = torch_interpreter.run(CHECKS_PROGRAM, name, device, timeout=600)
    save_results(name, device, json.loads(outcome.stdout.splitlines()[-1]))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "tensors"), [("simple", 2), ("awaitable", 1)])
def test_example_on_the_device(torch_interpreter, name, tensors, tmp_path):
    flags = ("--iterations", 5, "--size", 64, "--device", "cuda")
    torch_interpreter.run(EXAMPLES / f"{name}.py", *flags, cwd=tmp_path)
    (path,) = tmp_path.glob("cyclewatch-*.html")
    (finding,) = cyclewatch.Report.load(path).findings
    assert finding.retained_bytes == 5 * tensors * 64 * 64 * 4
    assert {owner.device for owner in finding.owners} == {"cuda:0"}
    save_results(f"examples/{name}.py", "cuda", {"retained bytes": finding.retained_bytes})
