# SPDX-License-Identifier: Apache-2.0
"""Runs an example program on the device and checks its results: `examples.py NAME DEVICE`."""

import os
import subprocess
import sys
from pathlib import Path

import support

import cyclewatch

FOLDER = Path(__file__).resolve().parents[2] / "examples"
MODULE = "torch.utils.viz._cycles"
TENSORS = {"simple": 2, "awaitable": 1}


def run(name, device):
    """Run an example; its report contains the tensors of all iterations."""
    flags = ["--iterations", "5", "--size", "64", "--device", device, "--report-dir", "."]
    subprocess.run([sys.executable, FOLDER / f"{name}.py", *flags], check=True, stdout=sys.stderr)
    (path,) = Path.cwd().glob("cyclewatch-*.html")
    (finding,) = cyclewatch.Report.load(path).findings
    assert finding.retained_bytes == 5 * TENSORS[name] * 64 * 64 * 4, finding.retained_bytes
    owners = {owner.device for owner in finding.owners}
    assert owners == {"cuda:0" if device == "cuda" else "cpu"}, owners
    return {"retained bytes": finding.retained_bytes}


def pages(name, text, device):
    """Run the text of examples/torch_cycles.py; return the number of pages that it writes."""
    folder = Path(name)
    folder.mkdir()
    program = folder / "example.py"
    program.write_text(text, encoding="utf-8")
    flags = ["--num_iter", "12", "--gc_collect_interval", "4", "--size", "1024"]
    subprocess.run(
        [sys.executable, program.name, "--warn_tensor_cycles", "--device", device, *flags],
        check=True,
        cwd=folder,
        env={**os.environ, "CYCLEWATCH_DEVICES": device},
    )
    return len(list(folder.glob("*.html")))


def torch_cycles(device):
    """The program with the import of cyclewatch and with that of torch."""
    text = (FOLDER / "torch_cycles.py").read_text(encoding="utf-8")
    ours = pages("cyclewatch", text, device)
    support.record(**{"pages, cyclewatch": ours})
    # More, if initializing CUDA triggers an automatic collection between two tensors.
    assert ours >= 3, ours
    if device == "cuda":  # torch's detector refuses to start without a device
        theirs = pages("torch", text.replace("cyclewatch.compat.torch_cycles", MODULE), device)
        support.record(**{"pages, torch": theirs})
        assert theirs > 0, theirs


CHECKS = {name: lambda device, name=name: run(name, device) for name in TENSORS}
CHECKS["torch_cycles"] = torch_cycles

if __name__ == "__main__":
    support.main(CHECKS)
