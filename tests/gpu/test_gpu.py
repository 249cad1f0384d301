# SPDX-License-Identifier: Apache-2.0
"""The checks that want a CUDA device, and the same code on the CPU as far as it goes.

`make gpu-test` runs them and keeps their figures (run.py). Where there is no device, those that
need one are skipped, and say so.
"""

import json
import os
from pathlib import Path

import pytest
from checks import BLOCK, CHECKS

import cyclewatch

CHECKS_PROGRAM = Path(__file__).parent / "checks.py"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ON_CUDA = pytest.param("cuda", marks=pytest.mark.gpu)


def keep(name, device, figures):
    """For the table of docs/gpu.md, if anybody asked for it."""
    path = os.environ.get("CYCLEWATCH_GPU_FIGURES")
    if path and device == "cuda":
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, figures]) + "\n")


@pytest.mark.parametrize("device", ["cpu", ON_CUDA])
@pytest.mark.parametrize("name", CHECKS)
def test_check(torch_interpreter, name, device):
    # Each check asserts for itself and ends the process with an error where something is wrong.
    outcome = torch_interpreter.run(CHECKS_PROGRAM, name, device, timeout=600)
    keep(name, device, json.loads(outcome.stdout.splitlines()[-1]))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "tensors"), [("simple", 2), ("awaitable", 1)])
def test_example_on_the_device(torch_interpreter, name, tensors, tmp_path):
    flags = ("--iterations", 5, "--size", 64, "--device", "cuda")
    torch_interpreter.run(EXAMPLES / f"{name}.py", *flags, cwd=tmp_path)
    (path,) = tmp_path.glob("cyclewatch-*.html")
    (finding,) = cyclewatch.Report.load(path).findings
    assert finding.retained_bytes == 5 * tensors * 64 * 64 * 4
    assert {owner.device for owner in finding.owners} == {"cuda:0"}
    keep(f"examples/{name}.py", "cuda", {"retained bytes": finding.retained_bytes})


def test_sizes_are_whole_blocks():
    # exact_bytes compares with an allocator that rounds up: it must not have to.
    assert BLOCK == 512
