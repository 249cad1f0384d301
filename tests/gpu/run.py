# SPDX-License-Identifier: Apache-2.0
"""Runs tests/gpu on this machine's device and writes the results to docs/gpu.md."""

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def machine():
    """Describe the device, driver and versions without naming the machine or its user."""
    import torch

    device = torch.cuda.get_device_properties(0)
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    return ", ".join(
        [
            datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            f"{torch.cuda.device_count()} x {device.name}, {device.total_memory >> 30} GiB",
            f"driver {driver[0] if driver else 'unknown'}",
            f"CUDA {torch.version.cuda}",
            f"torch {torch.__version__}",
            f"CPython {platform.python_version()}",
        ]
    )


def table(lines, passed):
    """Format the results as Markdown."""
    rows = [
        f"| {name} | {what} | {value} |"
        for name, results in map(json.loads, lines)
        for what, value in results.items()
    ]
    words = "Every check passed." if passed else "**Not every check passed.**"
    return "\n".join(
        [f"Run {machine()}. {words}", "", "| check | result | |", "|---|---|---|", *rows]
    )


def main():
    """Run the checks, and return pytest's exit status, or 0 if there is no device."""
    import torch

    if not torch.cuda.is_available():
        print("gpu-test: skipped, no CUDA device; docs/gpu.md is unchanged")
        return 0
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as results:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/gpu"],
            cwd=ROOT,
            env={**os.environ, "CYCLEWATCH_GPU_RESULTS": results.name},
            check=False,
        ).returncode
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = table(results, status == 0)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
