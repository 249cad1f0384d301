# SPDX-License-Identifier: Apache-2.0
"""Checks that use the tools of the CUDA toolkit: `toolkit.py NAME cuda`."""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import support

PROGRAM = """
import gc, sys
import torch, support
watch = support.watching("cuda") if sys.argv[1] == "watch" else None
for size in (1, 513, 1 << 20):
    support.leak(torch.ones(size, dtype=torch.uint8, device="cuda"))
total = torch.arange(1000, device="cuda").sum()
gc.collect()
assert int(total) == 499500
if watch is not None:
    watch.stop()
    assert watch.report().retained_bytes == 1 + 513 + (1 << 20)
"""


def tool(name):
    """The path of a tool."""
    installed = glob.glob(f"/usr/local/cuda*/bin/{name}")
    path = shutil.which(name) or next(iter(sorted(installed)), None)
    if path is None:
        raise support.MissingError(f"{name} is not installed")
    return path


def errors_of(path, mode):
    """Run PROGRAM in the sanitizer; return the number of errors in its summary."""
    folders = [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")]
    outcome = subprocess.run(
        [path, sys.executable, "-c", PROGRAM, mode],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
    )
    output = outcome.stdout + outcome.stderr
    summary = re.search(r"ERROR SUMMARY: (\d+) error", output)
    if summary is None or outcome.returncode != 0:
        raise AssertionError(f"{mode}: status {outcome.returncode}: {output.strip()[-1500:]}")
    support.record(**{f"errors, {mode}": int(summary[1])})
    return int(summary[1])


def compute_sanitizer(_):
    """The watch adds no error to those of torch alone.

    The sanitizer checks the memory accesses of every kernel, and reports CUDA calls that fail.
    """
    path = tool("compute-sanitizer")
    without, with_watch = errors_of(path, "no watch"), errors_of(path, "watch")
    assert with_watch == without, (with_watch, without)


def sample(_):
    """Compile and run sample.cu."""
    source = Path(__file__).with_name("sample.cu")
    subprocess.run([tool("nvcc"), "-std=c++17", "-o", "./sample", source], check=True)
    outcome = subprocess.run(["./sample"], capture_output=True, text=True)
    support.record(output=outcome.stdout.strip())
    assert outcome.returncode == 0, outcome


CHECKS = {"compute_sanitizer": compute_sanitizer, "sample": sample}

if __name__ == "__main__":
    support.main(CHECKS)
