# SPDX-License-Identifier: Apache-2.0
"""A program of a device leaks under a watch: simulated_cuda_program.py DRIVER RUNTIME FOLDER FAULT.

It tells, when all is written, what the program and its device can have noticed of the watch.
"""

import atexit
import gc
import json
import os
import sys

import simulated_cuda

import cyclewatch


class Owner:
    """Says it owns memory of the device, and is a cycle of its own."""

    def __init__(self):
        self.me = self


def tell(driver, runtime):
    """What CUDA is left with, and what the program is told at its next three calls."""
    state = driver.state
    left = [state.initialised, state.primary_active]
    left += [driver.thread.capture_mode, state.faults.capture_mode]
    calls = runtime.calls
    told = [calls.cudaPeekAtLastError(), calls.cudaGetLastError(), calls.cudaGetLastError()]
    print(json.dumps([left, driver.counted(), runtime.counted(), told]), flush=True)


def stage(fault, driver, runtime):
    if fault == "not in use":
        return
    # As after the program's first use of the device on this thread.
    driver.state.initialised = driver.state.primary_active = True
    driver.thread.context = 1
    if "700" in fault:
        driver.state.faults.sticky_error = 700
    if fault.endswith("pending"):
        runtime.thread.last_error = int(fault.split()[1])
        driver.state.faults.out_of_memory = True  # what we asked would end with an error too
    if fault == "capture":
        driver.state.faults.capture_mode = 0  # global: the one that forbids most


def main(driver_path, runtime_path, folder, fault):
    driver = simulated_cuda.Library(driver_path)
    runtime = simulated_cuda.Library(runtime_path)
    stage(fault, driver, runtime)
    # Before the watch is on, so that it is told after all that the watch does at exit.
    atexit.register(tell, driver, runtime)
    cyclewatch.register_owner(
        Owner, lambda owner: {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(owner)}
    )
    watch = cyclewatch.warn_tensor_cycles(report_dir=folder, formats=("json", "html"), budget=1)
    Owner()
    gc.collect()
    report = watch.report()
    assert report.retained_bytes == 1 << 20
    report.save(os.path.join(folder, "saved.json"))
    Owner()
    gc.collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
