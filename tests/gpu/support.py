# SPDX-License-Identifier: Apache-2.0
"""Shared by the checks and the probes: garbage to find, results, and the main function.

A check runs in its own process (`PROGRAM NAME DEVICE`) and prints its results as it goes, one JSON
object per line after MARK, so that a check that hangs or crashes loses none of the results that it
has printed. The last of these lines contains the outcome.
"""

import gc
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

MARK = "gpu-check: "
PROBLEM = "CYCLEWATCH_GPU_PROBLEM"  # set by run.py: why there is no device; empty if there is one
BLOCK = 512  # the block size of torch's CUDA allocator


class NoDeviceError(Exception):
    """Raised by a check that needs a device; the message says why there is none."""


class MissingError(Exception):
    """Raised by a check that needs a library or program; the message names it."""


class Holder:
    """An object that refers to itself and to a tensor."""


def cycle(tensor):
    """Return an object of a reference cycle that refers to `tensor`."""
    holder = Holder()
    holder.me, holder.tensor = holder, tensor
    return holder


def leak(tensor):
    """Make `tensor` reachable only from a reference cycle."""
    cycle(tensor)


def allocated(device):
    """Return the number of bytes allocated on the device, or None for the CPU."""
    import torch

    return torch.cuda.memory_allocated() if device == "cuda" else None


def collect(device):
    """Collect garbage, then wait for the device."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()


def watching(device, **options):
    """Start a watch that examines every collection."""
    import cyclewatch

    return cyclewatch.watch(devices=device, budget=1, **options)


def status_of_child(work):
    """Fork, run `work` in the child, and return the child's exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # the child must not return from this function
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def device_problem():
    """Say why there is no device, or return an empty text. Does not initialize CUDA."""
    problem = os.environ.get(PROBLEM)
    if problem is None:
        program = Path(__file__).parent / "probes" / "cuda_api.py"
        command = [sys.executable, str(program)]
        problem = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    return problem


def need_device():
    """Raise NoDeviceError unless there is a CUDA device."""
    problem = device_problem()
    if problem:
        raise NoDeviceError(problem)


def record(**results):
    """Print results, which are kept even if the check fails later."""
    write({"results": results})


def write(entry):
    """Print one line for run.py."""
    print(MARK + json.dumps(entry), flush=True)


def entries(output):
    """Return what a check has printed with write()."""
    lines = (line for line in output.splitlines() if line.startswith(MARK))
    return [json.loads(line.removeprefix(MARK)) for line in lines]


def nvidia_smi(*fields):
    """Return the values of `fields` of CUDA's first device, or None if nvidia-smi does not work.

    Both number the devices by PCI id, because run.py sets CUDA_DEVICE_ORDER.
    """
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    query = [f"--id={device}", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        outcome = subprocess.run(
            ["nvidia-smi", *query], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [value.strip() for value in outcome.stdout.partition("\n")[0].split(",")]


def main(checks, device_first=True):
    """Run the check that the command line names, without automatic collections.

    With `device_first`, a check on "cuda" is not called unless there is a device.
    """
    name, device = sys.argv[1:3]
    gc.disable()  # a collection that the check does not expect would take owners from it
    try:
        if device == "cuda" and device_first:
            need_device()
        record(**(checks[name](device) or {}))
    except NoDeviceError as error:
        write({"outcome": "no device", "reason": str(error)})
    except MissingError as error:
        write({"outcome": "missing", "reason": str(error)})
    else:
        write({"outcome": "passed", "reason": ""})
