# SPDX-License-Identifier: Apache-2.0
"""`make gpu-test`: runs tests/gpu on this machine's device and writes docs/gpu.md."""

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
    """Kind of the device and of what drives it; nothing that names the machine or its user."""
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
    """What was measured, as Markdown."""
    rows = [
        f"| {name} | {what} | {value} |"
        for name, figures in map(json.loads, lines)
        for what, value in figures.items()
    ]
    words = "Every check passed." if passed else "**Not every check passed.**"
    return "\n".join(
        [f"Run {machine()}. {words}", "", "| check | figure | |", "|---|---|---|", *rows]
    )


def main():
    """Run the checks; exit with pytest's status, or with 0 where there is no device."""
    import torch

    if not torch.cuda.is_available():
        print("gpu-test: skipped, there is no CUDA device here; docs/gpu.md stays as it is")
        return 0
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as figures:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/gpu"],
            cwd=ROOT,
            env={**os.environ, "CYCLEWATCH_GPU_FIGURES": figures.name},
            check=False,
        ).returncode
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = table(figures, status == 0)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
