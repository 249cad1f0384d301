# SPDX-License-Identifier: Apache-2.0
"""Runs the checks for a CUDA device, prints a table, and writes the results to gpu.json.

Needs only Python 3.12: `python3 tests/gpu/run.py`, in the folder that `make gpu-kit` makes or in a
built source tree. Each check runs in its own process with its own time limit, and all together end
within --seconds. Without a device, each check says so. The exit status is 1 if a check fails.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import plan
import support

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIBRARIES = (
    "torch",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "cupy",
    "numba",
    "numba-cuda",
    "jax",
    "nvidia-cuda-runtime",
)
DEVICE_SECONDS = 60
TORCH_SECONDS = 100
# The least time that is worth starting a check in.
LEAST_SECONDS = 5


@dataclasses.dataclass
class Outcome:
    """The result of one check."""

    name: str
    outcome: str  # passed, failed, no device, missing, timed out, not run
    reason: str = ""
    seconds: float = 0.0
    results: dict = dataclasses.field(default_factory=dict)
    output: str = ""  # the end of what a check that failed has printed


class Runner:
    """Runs checks until the time is over."""

    def __init__(self, package, scratch, seconds):
        self.package, self.scratch = package, scratch
        self.deadline = time.monotonic() + seconds
        self.environment = dict(os.environ)
        self.environment.update(
            PYTHONPATH=os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH")))),
            PYTHONFAULTHANDLER="1",
            PYTHONDONTWRITEBYTECODE="1",
            CUDA_DEVICE_ORDER="PCI_BUS_ID",  # as nvidia-smi
        )
        self.printing = threading.Lock()

    def process(self, command, limit, name, **environment):
        """Run a command; return its status (None: timed out), its output and its errors."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch, prefix=name))
        paths = folder / "output.txt", folder / "errors.txt"
        with paths[0].open("wb") as output, paths[1].open("wb") as errors:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=folder,
                env={**self.environment, **environment},
                start_new_session=True,
            )
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
                os.killpg(child.pid, signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(10)  # a process that waits inside the driver cannot be killed
        return status, *(path.read_text(errors="replace") for path in paths)

    def device_problem(self):
        """Say why there is no device, or return an empty text."""
        program = HERE / "probes" / "cuda_api.py"
        status, output, errors = self.process([sys.executable, program], DEVICE_SECONDS, "device")
        if status is None:
            return f"the NVIDIA driver does not answer within {DEVICE_SECONDS} seconds"
        if status != 0:
            return f"the NVIDIA driver cannot be examined: {last_line(errors) or status}"
        return output.strip()

    def read_torch(self):
        """Import torch once, so that no check spends its time reading gigabytes from the disk."""
        self.process([sys.executable, "-c", "import torch"], TORCH_SECONDS, "torch")

    def run(self, check):
        """Run one check."""
        limit = min(check.limit, self.deadline - time.monotonic())
        if limit < LEAST_SECONDS:
            outcome = Outcome(check.name, "not run", "the time for all checks was over")
        else:
            begin = time.monotonic()
            outcome = self._outcome(check, limit)
            outcome.seconds = round(time.monotonic() - begin, 1)
        with self.printing:
            print(f"{outcome.name}: {outcome.outcome}", file=sys.stderr, flush=True)
        return outcome

    def _outcome(self, check, limit):
        command = [sys.executable, *check.command(HERE)]
        status, output, errors = self.process(command, limit, check.name, **check.environment)
        results, last = {}, {}
        for entry in support.entries(output):
            results.update(entry.get("results", {}))
            last = entry if "outcome" in entry else last
        outcome = Outcome(check.name, "failed", results=results)
        if status is None:
            outcome.outcome, outcome.reason = "timed out", f"not finished after {limit:.0f} seconds"
        elif status == 0 and last:
            outcome.outcome, outcome.reason = last["outcome"], last["reason"]
        elif "ModuleNotFoundError: No module named" in last_line(errors):
            outcome.outcome, outcome.reason = "missing", last_line(errors).partition(": ")[2]
        else:
            ending = f"signal {-status}" if status < 0 else f"status {status}"
            outcome.reason = last_line(errors)[:300] or f"ended with {ending}"
        if outcome.outcome in ("failed", "timed out"):
            outcome.output = (output + errors)[-3000:]
        return outcome

    def run_all(self, checks, workers):
        """Run the checks that may share the device together, then the others one by one."""
        shared = [check for check in checks if not check.alone]
        alone = [check for check in checks if check.alone]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            outcomes = list(pool.map(self.run, shared))
        outcomes += map(self.run, alone)
        order = [check.name for check in checks]
        return sorted(outcomes, key=lambda outcome: order.index(outcome.name))


def last_line(text):
    """Return the last line of `text` that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def install(scratch):
    """Unpack the wheel beside this kit; return the folder from which to import cyclewatch."""
    wheels = sorted(ROOT.glob("cyclewatch-*.whl"))
    if not wheels:
        return ROOT  # a source tree
    tag = f"-cp{sys.version_info.major}{sys.version_info.minor}-"
    fitting = [wheel for wheel in wheels if tag in wheel.name]
    if not fitting:
        # The probes do not need cyclewatch; the other checks report that it is missing.
        print(f"run.py: {wheels[0].name} is not for this Python", file=sys.stderr)
        return ROOT
    folder = Path(scratch, "package")
    with zipfile.ZipFile(fitting[0]) as wheel:
        wheel.extractall(folder)
    return folder


def machine():
    """Describe the device, the driver and the libraries, without naming the machine."""
    fields = ("name", "driver_version", "memory.total", "compute_cap")
    description = dict(zip(fields, support.nvidia_smi(*fields) or [], strict=False))
    description["python"] = platform.python_version()
    for library in LIBRARIES:
        try:
            description[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return description


def table(outcomes):
    """Return the outcomes as lines of aligned columns."""
    width = max(len(outcome.name) for outcome in outcomes)
    for outcome in outcomes:
        facts = [f"{name}: {value}" for name, value in outcome.results.items()]
        text = outcome.reason or "; ".join(facts)
        text = text if len(text) <= 110 else text[:107] + "..."
        seconds = f"{outcome.seconds:6.1f}"
        yield f"{outcome.name:{width}}  {outcome.outcome:9}  {seconds}  {text}".rstrip()


def parse_arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="checks to run (default: all)")
    parser.add_argument("--json", default="gpu.json", help="results (default: ./gpu.json)")
    parser.add_argument("--seconds", type=float, default=345, help="for all checks (default: 345)")
    parser.add_argument(
        "--workers",
        type=int,
        default=max(1, min(4, (os.cpu_count() or 1) // 2)),
        help="checks to run at the same time, except those that need the device for themselves",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {check.name for check in plan.CHECKS}
    if unknown:
        parser.error(f"unknown checks: {', '.join(sorted(unknown))}")
    return arguments


def main():
    """Run the checks, and return the exit status."""
    arguments = parse_arguments()
    begin = time.monotonic()
    wanted = [each for each in plan.CHECKS if not arguments.names or each.name in arguments.names]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        package = install(scratch)
        runner = Runner(package, scratch, arguments.seconds)
        description = machine()
        problem = runner.device_problem()
        runner.environment[support.PROBLEM] = problem
        runner.read_torch()
        outcomes = runner.run_all(wanted, arguments.workers)
    print(*table(outcomes), sep="\n")
    results = {
        "format": 1,
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "device": not problem,
        "machine": description,
        "seconds": round(time.monotonic() - begin),
        "checks": [dataclasses.asdict(outcome) for outcome in outcomes],
    }
    Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    counts = {}
    for outcome in outcomes:
        counts[outcome.outcome] = counts.get(outcome.outcome, 0) + 1
    summary = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(
        f"{len(outcomes)} checks in {results['seconds']} s: {summary}; results in {arguments.json}"
    )
    return int(any(counts.get(name) for name in ("failed", "timed out", "not run")))


if __name__ == "__main__":
    sys.exit(main())
